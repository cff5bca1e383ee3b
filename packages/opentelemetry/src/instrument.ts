import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote, release } from '@coll/core/internal';
import { type Meter, type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import { definitions, durationBounds, type Meters, recordMetrics } from './metrics.js';
import { recordSpans } from './spans.js';

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** Default: the global one of this thread */
  readonly tracerProvider?: TracerProvider;
  /** Default: the global one of this thread */
  readonly meterProvider?: MeterProvider;
}

/** What `instrument` has begun. */
export interface Instrumentation extends Disposable {
  /** Ends it: later calls get no spans and are not counted. */
  disable(): void;
}

const name = '@coll/opentelemetry';
const instrumentOptions = knownOptions<InstrumentOptions>('instrument', { tracerProvider: true, meterProvider: true });

/**
 * Makes spans and metrics of the calls of this thread. Each thread that makes calls needs its own
 * call, after its OpenTelemetry SDK has started: the main thread, and replicas in threads.
 * @throws ValueError for unknown options, and for providers that are none
 *
 * @example
 * ```ts
 * import { direct } from '@coll/direct';
 * import { instrument } from '@coll/opentelemetry';
 * import { MirroredStrategy } from '@coll/strategy';
 * import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
 *
 * const exporter = new InMemorySpanExporter();
 * const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
 * const instrumentation = instrument({ tracerProvider });
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
 * await strategy.run((replica) => replica.allReduce('mean', new Float32Array(1000)));
 * instrumentation.disable();
 * const [span] = exporter.getFinishedSpans();
 * console.log(span?.name, span?.attributes['coll.bytes']); // all-reduce mean 4000
 * ```
 */
export function instrument(options: InstrumentOptions = {}): Instrumentation {
  const { tracerProvider = trace, meterProvider = metrics } = optionsOf(options, 'instrument()', instrumentOptions);
  requireMethod('tracerProvider', tracerProvider, 'getTracer');
  requireMethod('meterProvider', meterProvider, 'getMeter');
  const ends = [
    recordSpans(tracerProvider.getTracer(name, release)),
    recordMetrics(metersOf(meterProvider.getMeter(name, release))),
  ];
  const disable = () => {
    for (const end of ends.splice(0)) end();
  };
  return { disable, [Symbol.dispose]: disable };
}

function requireMethod(option: string, provider: unknown, method: string): void {
  if (typeof (provider as Record<string, unknown> | null)?.[method] === 'function') return;
  throw new ValueError('ERR_COLL_VALUE', `instrument: ${option} must have a method ${method}, got ${quote(provider)}`);
}

function metersOf(meter: Meter): Meters {
  const { calls, bytes, duration, groups, groupsLost } = definitions;
  const counterOf = (definition: (typeof definitions)[keyof typeof definitions]) => {
    const counter = meter.createCounter(definition.name, definition);
    return counter.add.bind(counter);
  };
  const histogram = meter.createHistogram(duration.name, {
    ...duration,
    advice: { explicitBucketBoundaries: durationBounds },
  });
  const open = meter.createUpDownCounter(groups.name, groups);
  return {
    calls: counterOf(calls),
    bytes: counterOf(bytes),
    duration: histogram.record.bind(histogram),
    groups: open.add.bind(open),
    groupsLost: counterOf(groupsLost),
  };
}
