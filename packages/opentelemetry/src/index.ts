export { type Instrumentation, type InstrumentOptions, instrument } from './instrument.js';
export { type MetricsServer, type ServeMetricsOptions, serveMetrics } from './serve-metrics.js';
