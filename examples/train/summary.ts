import { createHash } from 'node:crypto';
import type { MultiWorkerMirroredStrategy } from '@coll/strategy';
import Table from 'cli-table3';
import type { ReplicaResult } from './replica.ts';

/** Whether all replicas ended with the same bits. */
export function weightsAreIdentical(results: readonly ReplicaResult[]): boolean {
  const [first, ...others] = results.map(({ weights }) =>
    Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength),
  );
  return others.every((bytes) => first?.equals(bytes));
}

/** Whether the bits are equal on all workers. All workers must call this function. */
export async function weightsAreIdenticalAcross(
  strategy: MultiWorkerMirroredStrategy,
  results: readonly ReplicaResult[],
): Promise<boolean> {
  const { weights } = results[0] as ReplicaResult;
  const digest = createHash('sha256').update(weights).digest();
  const { data } = await strategy.gather(Uint8Array.from(digest), 0);
  const isAlike = data.every((byte, index) => byte === digest[index % digest.length]);
  return isAlike && weightsAreIdentical(results);
}

/** The results of a training as a table. `single` is the run with one replica for comparison. */
export function summary(
  single: ReplicaResult | undefined,
  results: readonly ReplicaResult[],
  replicas = results.length,
): string {
  const [first] = results as readonly [ReplicaResult];
  const { samplesPerSecond, accuracy, summary: steps } = first;
  const table = new Table({ style: { head: [], border: [] }, colAligns: ['left', 'right'] });
  table.push(['parameters', first.weights.length.toLocaleString('en')], ['test accuracy', percent(accuracy)]);
  if (single) table.push(['one replica', rate(single.samplesPerSecond)]);
  table.push([replicas === 1 ? 'one replica' : `${replicas} replicas`, rate(samplesPerSecond)]);
  if (single) table.push(['speed-up', `${(samplesPerSecond / single.samplesPerSecond).toFixed(2)} x`]);
  if (!steps) return table.toString();
  table.push(['exchange, of a step', percent(steps.exchange)], ['waiting, of a step', percent(steps.waiting)]);
  return `${table}\n${steps.verdict}`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function rate(samplesPerSecond: number): string {
  return `${Math.round(samplesPerSecond).toLocaleString('en')} samples/s`;
}
