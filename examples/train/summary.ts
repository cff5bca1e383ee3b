import { createHash } from 'node:crypto';
import type { MultiWorkerMirroredStrategy } from '@coll/strategy';
import Table from 'cli-table3';
import type { Settings } from './options.mjs';
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

/** The same model, trained in one process and by several replicas. */
export interface Runs {
  /** The run in one process; undefined if there was none. */
  readonly single: ReplicaResult | undefined;
  /** Those of the replicas of this process. */
  readonly results: readonly ReplicaResult[];
  /** How many there are in all processes. */
  readonly replicas: number;
}

/** The results of a training as a table. */
export function summary({ single, results, replicas }: Runs): string {
  const [first] = results as readonly [ReplicaResult];
  const { samplesPerSecond, accuracy, summary: steps } = first;
  const table = new Table({ style: { head: [], border: [] }, colAligns: ['left', 'right', 'right'] });
  const row = (title: string, of: string, ofSingle = '') => table.push(single ? [title, ofSingle, of] : [title, of]);
  row('', countOf(replicas), 'one process');
  row('samples per second', rate(samplesPerSecond), single && rate(single.samplesPerSecond));
  if (single) row('speed-up', `${(samplesPerSecond / single.samplesPerSecond).toFixed(2)} x`);
  if (steps) {
    row('waiting, of a step', percent(steps.waiting));
    row('exchange, of a step', percent(steps.exchange));
  }
  row('test accuracy', percent(accuracy));
  const verdict = steps ? `\n${steps.verdict}` : '';
  return `${table}\n${first.weights.length.toLocaleString('en')} parameters${verdict}`;
}

/** One line on the speed of the same model in another framework. */
export function otherFramework(
  { framework, replicas }: Pick<Settings, 'framework' | 'replicas'>,
  alone: ReplicaResult,
  together: ReplicaResult | undefined,
): string {
  const others = together ? `, ${rate(together.samplesPerSecond)} with ${countOf(replicas)}` : '';
  return `the same model in ${framework}: ${rate(alone.samplesPerSecond)} samples per second in one process${others}`;
}

/** The results of a training as values for programs. */
export function record(
  { framework, batchSize }: Pick<Settings, 'framework' | 'batchSize'>,
  { single, results, replicas }: Runs,
  { identical, warning }: { readonly identical: boolean; readonly warning: string | undefined },
) {
  const [{ samplesPerSecond, accuracy, summary: steps, weights }] = results as readonly [ReplicaResult];
  return {
    framework,
    batchSize,
    replicas,
    parameters: weights.length,
    accuracy,
    samplesPerSecond,
    ...(single ? { samplesPerSecondOfOne: single.samplesPerSecond } : {}),
    ...(steps ? { waiting: steps.waiting, exchange: steps.exchange } : {}),
    identical,
    ...(warning === undefined ? {} : { warning }),
  };
}

function countOf(replicas: number): string {
  return replicas === 1 ? 'one replica' : `${replicas} replicas`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function rate(samplesPerSecond: number): string {
  return Math.round(samplesPerSecond).toLocaleString('en');
}
