import Table from 'cli-table3';
import type { ReplicaResult } from './replica.ts';

/** Whether all replicas ended with the same bits. */
export function weightsAreIdentical(results: readonly ReplicaResult[]): boolean {
  const [first, ...others] = results.map(({ weights }) =>
    Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength),
  );
  return others.every((bytes) => first?.equals(bytes));
}

/** What a training came to, as a table; `single` is the one replica that it is compared with. */
export function summary(single: ReplicaResult | undefined, results: readonly ReplicaResult[]): string {
  const [first] = results as readonly [ReplicaResult];
  const { samplesPerSecond, accuracy } = first;
  const allReduceShare = results.reduce((sum, result) => sum + result.allReduceShare, 0) / results.length;
  const table = new Table({ style: { head: [], border: [] }, colAligns: ['left', 'right'] });
  table.push(['parameters', first.weights.length.toLocaleString('en')], ['test accuracy', percent(accuracy)]);
  if (single) table.push(['one replica', rate(single.samplesPerSecond)]);
  table.push([results.length === 1 ? 'one replica' : `${results.length} replicas`, rate(samplesPerSecond)]);
  if (single) table.push(['speed-up', `${(samplesPerSecond / single.samplesPerSecond).toFixed(2)} x`]);
  table.push(['all-reduce, of a step', percent(allReduceShare)]);
  return table.toString();
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function rate(samplesPerSecond: number): string {
  return `${Math.round(samplesPerSecond).toLocaleString('en')} samples/s`;
}
