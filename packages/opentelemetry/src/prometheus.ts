import { Counter, Gauge, Histogram, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import { type AttributeName, definitions, durationBounds, type Meters, type MetricAttributes } from './metrics.js';

/** Values of metrics, which another thread can receive. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>[];

/** The metrics of this thread, with the names that the specification of OpenTelemetry gives them in Prometheus. */
export function prometheusMeters(registry: Registry): Meters {
  const { calls, bytes, duration, groups, groupsLost } = definitions;
  const options = ({ description, attributes }: (typeof definitions)[keyof typeof definitions], name: string) => ({
    ...{ name, help: description, labelNames: attributes.map(labelOf), registers: [registry] },
  });
  const counter = (definition: (typeof definitions)[keyof typeof definitions], name: string) => {
    const made = new Counter(options(definition, name));
    return (count: number, attributes: MetricAttributes) => made.inc(labelsOf(attributes), count);
  };
  const histogram = new Histogram({ ...options(duration, 'coll_duration_seconds'), buckets: durationBounds });
  const gauge = new Gauge(options(groups, 'coll_groups'));
  return {
    calls: counter(calls, 'coll_calls_total'),
    bytes: counter(bytes, 'coll_bytes_total'),
    duration: (seconds, attributes) => histogram.observe(labelsOf(attributes), seconds),
    groups: (change, attributes) => gauge.inc(labelsOf(attributes), change),
    groupsLost: counter(groupsLost, 'coll_groups_lost_total'),
  };
}

const labelOf = (name: AttributeName) => name.replace('.', '_');

function labelsOf(attributes: MetricAttributes): Record<string, string | number> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [labelOf(name as AttributeName), value]));
}
