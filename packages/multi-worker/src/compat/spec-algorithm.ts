import { type Collective, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { Algorithm } from '@coll/core/schedule';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import { hierarchicalAlgorithm } from '../hierarchical-algorithm.js';
import { recursiveHalvingDoublingAlgorithm } from '../recursive-halving-doubling-algorithm.js';
import { shuffleAlgorithm } from '../shuffle-algorithm.js';
import type { Workers } from '../workers.js';
import { groupDeviceNames } from './group-device-names.js';
import { misfitOfRanks, requireChoice, requireFit, requireWorkers, type SpecChoice, usesNccl } from './spec-fit.js';

/**
 * The schedule of an entry of an all-reduce specification: `xring`, `pscpu`, `psgpu` or
 * `pscpu/pscpu`. Ranks are numbered worker by worker, equally many in each. A worker's first rank
 * represents its CPU, its rank `i` its GPU `i`; if there are more GPUs than ranks, they wrap
 * around. `xring` combines contributions around the ring, `pscpu` and `psgpu` in rank order, and
 * `pscpu/pscpu` first within each worker and then across workers.
 *
 * `pscpu` and `psgpu` have `groupCount` schedules, each of which gathers on a different group of
 * devices; `group` selects one. Default: 0.
 *
 * Entries that begin with `nccl` have no schedule and are refused.
 *
 * @throws ValueError for an entry that does not fit the workers
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { specAlgorithm } from '@coll/multi-worker';
 *
 * const algorithm = specAlgorithm({ alg: 'xring', shards: 1 }, { workers: 2, gpusPerWorker: 2 });
 * const members = openMembers({ size: 4, algorithm });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[3]); // Int32Array(2) [ 6, 4 ]
 * ```
 */
export function specAlgorithm(choice: SpecChoice, workers: Workers, group = 0): Algorithm {
  requireChoice(choice);
  requireWorkers(workers);
  if (!Number.isInteger(group) || group < 0)
    throw new ValueError('ERR_COLL_VALUE', `group must be a whole number, 0 or more, got ${quote(group)}`);
  requireFit(choice, workers);
  const refuses = (collective: Collective, ranks: number): string | undefined => {
    if (usesNccl(choice)) return noSchedule(choice.alg);
    return (
      misfitOfRanks(choice, workers, ranks) ?? algorithmOf(choice, workers, group, ranks).refuses?.(collective, ranks)
    );
  };
  return {
    name: choice.alg,
    refuses,
    representatives: (collective, ranks, ranksPerWorker) =>
      algorithmOf(choice, workers, group, ranks).representatives?.(collective, ranks, ranksPerWorker),
    plan(collective, ranks) {
      const misfit = misfitOfRanks(choice, workers, ranks);
      if (misfit !== undefined) throw new ValueError('ERR_COLL_REFUSED', misfit);
      return algorithmOf(choice, workers, group, ranks).plan(collective, ranks);
    },
  };
}

function noSchedule(alg: string): string {
  return `${alg} needs the values of all replicas in one thread, because NCCL executes it; for replicas in separate threads use xring, pscpu, psgpu or pscpu/pscpu`;
}

/**
 * Number of schedules of an entry of an all-reduce specification. Pack `k` of a call uses schedule
 * `k mod groupCount(…)`.
 * @throws ValueError for an invalid entry or invalid workers
 */
export function groupCount(choice: SpecChoice, among: Workers): number {
  requireChoice(choice);
  requireWorkers(among);
  const { workers, gpusPerWorker } = among;
  if (choice.alg === 'pscpu') return Math.ceil(workers / choice.shards);
  return choice.alg === 'psgpu' ? Math.ceil((workers * gpusPerWorker) / choice.shards) : 1;
}

/**
 * For an entry that begins with `nccl/`, the algorithm across workers, with one rank per worker;
 * undefined for other entries.
 */
export function acrossAlgorithm({ alg }: SpecChoice, { workers }: Workers): Algorithm | undefined {
  if (alg === 'nccl/xring') return ringAlgorithm({ workers });
  if (alg === 'nccl/rechd') return recursiveHalvingDoublingAlgorithm();
  return alg === 'nccl/pscpu' ? shuffleAlgorithm({ gatherRanks: upTo(workers) }) : undefined;
}

/**
 * The algorithm of an entry across workers, with one rank per worker, after each worker has
 * combined its own values. It is a ring or, for entries that gather, a shuffle on the workers that
 * own the gathering devices.
 */
export function algorithmAcross(choice: SpecChoice, workers: Workers, group: number): Algorithm {
  switch (choice.alg) {
    case 'pscpu':
    case 'psgpu':
      return shuffleAlgorithm({ gatherRanks: gatherersOf(choice, workers, group).map(({ worker }) => worker) });
    case 'pscpu/pscpu':
      return shuffleAlgorithm({ gatherRanks: upTo(choice.shards) });
    default:
      return acrossAlgorithm(choice, workers) ?? ringAlgorithm();
  }
}

function algorithmOf(choice: SpecChoice, workers: Workers, group: number, ranks: number): Algorithm {
  const { alg, shards } = choice;
  switch (alg) {
    case 'xring':
      return ringAlgorithm({ workers: workers.workers, subChunks: shards });
    case 'pscpu':
    case 'psgpu': {
      const perWorker = ranks / workers.workers;
      const rankOf = ({ worker, gpu }: GatherDevice) => worker * perWorker + (gpu % perWorker);
      return shuffleAlgorithm({ gatherRanks: gatherersOf(choice, workers, group).map(rankOf) });
    }
    case 'pscpu/pscpu':
      return hierarchicalAlgorithm({
        workers: workers.workers,
        within: reductionToOneAlgorithm(),
        across: shuffleAlgorithm({ gatherRanks: upTo(shards) }),
      });
    default:
      throw new ValueError('ERR_COLL_REFUSED', noSchedule(alg));
  }
}

/** A GPU of a worker. GPU 0 also means the worker's CPU, because the first rank represents both. */
interface GatherDevice {
  readonly worker: number;
  readonly gpu: number;
}

/** The devices on which an entry gathers; `group` selects one of the groups of such devices. */
function gatherersOf(choice: SpecChoice, workers: Workers, group: number): readonly GatherDevice[] {
  const groups = groupDeviceNames(devicesThatGather(choice, workers), choice.shards);
  return groups[group % groups.length] as GatherDevice[];
}

/**
 * All devices on which an entry can gather: GPU 0 of every worker, then GPU 1 of every worker, and
 * so on.
 */
function devicesThatGather({ alg }: SpecChoice, { workers, gpusPerWorker }: Workers): GatherDevice[] {
  const gpus = upTo(alg === 'psgpu' ? gpusPerWorker : 1);
  return gpus.flatMap((gpu) => upTo(workers).map((worker) => ({ worker, gpu })));
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
