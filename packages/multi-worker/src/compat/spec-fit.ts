import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { Workers } from '../workers.js';
import type { AllReduceSpec } from './all-reduce-spec.js';

/** An entry of an all-reduce specification without its limit. */
export type SpecChoice = Pick<AllReduceSpec, 'alg' | 'shards'>;

/**
 * Whether NCCL reduces for this entry of an all-reduce specification, within each worker or
 * everywhere. Such an entry has no schedule.
 */
export function usesNccl({ alg }: SpecChoice): boolean {
  return alg.startsWith('nccl');
}

/** @throws ValueError unless `choice` is an entry of an all-reduce specification */
export function requireChoice(choice: unknown): asserts choice is SpecChoice {
  const { alg, shards } = Object(choice) as Partial<SpecChoice>;
  if (typeof alg === 'string' && isCount(shards) && shards > 0) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `an entry must be an object such as { alg: 'pscpu', shards: 1 }, got ${quote(choice)}`,
  );
}

/** @throws ValueError unless `workers` contains a valid number of workers and of GPUs per worker */
export function requireWorkers(workers: unknown): asserts workers is Workers {
  const { workers: count, gpusPerWorker } = Object(workers) as Partial<Workers>;
  if (isCount(count) && count > 0 && isCount(gpusPerWorker)) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `workers must be an object such as { workers: 2, gpusPerWorker: 4 }, got ${quote(workers)}`,
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * @throws ValueError for an entry that these workers cannot execute; the message suggests a remedy
 */
export function requireFit(choice: SpecChoice, workers: Workers, title: string = choice.alg): void {
  const problem = misfit(choice, workers);
  if (problem !== undefined) throw new ValueError('ERR_COLL_VALUE', `${title}: ${problem}`);
}

/**
 * If `ranks` ranks, one per component of a value, cannot execute an entry, returns the reason;
 * otherwise undefined.
 */
export function misfitOfRanks(
  { alg }: SpecChoice,
  { workers, gpusPerWorker }: Workers,
  ranks: number,
): string | undefined {
  if (alg === 'nccl') return undefined;
  const among = `${workers} ${workers === 1 ? 'worker' : 'workers'}`;
  if (alg === 'xring') {
    if (ranks === workers * gpusPerWorker) return undefined;
    return `xring connects ${gpusPerWorker} devices in each of ${among}, but the value has ${ranks} components: it must have one on each of these devices`;
  }
  if (ranks % workers === 0) return undefined;
  return `${ranks} components cannot be divided evenly across ${among}: ${alg} needs the same number on each worker`;
}

function misfit({ alg, shards }: SpecChoice, { workers, gpusPerWorker }: Workers): string | undefined {
  const among = workers === 1 ? '1 worker' : `${workers} workers`;
  if (alg === 'xring' && shards > gpusPerWorker) {
    return `${shards} sub-chunks need at least ${shards} GPUs in each worker, got ${gpusPerWorker}: lower the shards, or raise numGpusPerWorker`;
  }
  if (alg === 'nccl/xring' && workers > 1 && shards > 1) {
    return `this ring has one rank per worker, so that it cannot be divided into ${shards} sub-chunks: use 1 shard`;
  }
  if (alg === 'nccl/rechd' && !Number.isInteger(Math.log2(workers))) {
    return `for recursive halving-doubling the number of workers must be a power of two, got ${workers}: use nccl/xring or nccl/pscpu`;
  }
  if (!/ps[cg]pu/.test(alg)) return undefined;
  const gpus = alg === 'psgpu';
  const devices = gpus ? workers * gpusPerWorker : workers;
  if (shards <= devices) return undefined;
  const gathering = gpus
    ? `the GPUs of all workers gather, ${among} with ${gpusPerWorker} each`
    : `one CPU per worker gathers, and there ${workers === 1 ? 'is' : 'are'} ${among}`;
  const advice =
    devices === 0
      ? 'raise numGpusPerWorker'
      : `use ${devices === 1 ? '1 shard' : `up to ${devices} shards`}, such as ['${alg}', ${devices}, -1], or name more workers`;
  return `only ${devices} devices, but group_size=${shards} (${gathering}): ${advice}`;
}
