import { type Collective, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import {
  type Algorithm,
  onRanks,
  pipelined,
  type RepresentativeSchedule,
  refine,
  type Schedule,
  sequence,
  type Transfer,
  together,
} from '@coll/core/schedule';

/** The number of workers, and the algorithms within each worker and across workers. */
export interface HierarchicalAlgorithmOptions {
  /** Number of workers. Ranks are numbered worker by worker, equally many in each. */
  readonly workers: number;
  /**
   * The algorithm within a worker. It plans a reduce to the first rank of the worker (the leader),
   * and a broadcast from the leader. If there is only one worker, it plans the whole all-reduce.
   */
  readonly within: Algorithm;
  /** The algorithm across workers. It plans an all-reduce of the leaders, one per worker. */
  readonly across: Algorithm;
  /**
   * Number of blocks of the buffer. Blocks follow each other from level to level, so that workers
   * reduce or broadcast some blocks while the leaders all-reduce others. Default: 1.
   */
  readonly blocks?: number | undefined;
}

const hierarchicalAlgorithmOptions = knownOptions<HierarchicalAlgorithmOptions>('hierarchicalAlgorithm', {
  workers: true,
  within: true,
  across: true,
  blocks: true,
});

/**
 * Two levels: every worker reduces to its leader, the leaders all-reduce, and every leader
 * broadcasts the result. Only one buffer per worker passes between workers. Contributions are
 * combined in the order of `within`, then the results of the workers in the order of `across`.
 *
 *     worker 0:  1 +-> 0                 0 --> 1
 *                        \             /
 *                         0 <- all -> 2
 *                        /             \
 *     worker 1:  3 +-> 2                 2 --> 3
 *
 * All-reduce only: `plan` throws ValueError (ERR_COLL_REFUSED) for other kinds, and for ranks that
 * are not divisible by the workers. The scheme is that of leaders in MPI on clusters of multi-core
 * hosts (Karonis et al. 2000).
 *
 * @throws ValueError unless `workers` is a valid number, and `within` and `across` are algorithms
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 * import { hierarchicalAlgorithm } from '@coll/multi-worker';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const levels = { within: directAlgorithm(), across: ringAlgorithm() };
 * const algorithm = hierarchicalAlgorithm({ workers: 2, ...levels });
 * const members = openMembers({ size: 4, algorithm });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[3]); // Int32Array(2) [ 6, 4 ]
 * ```
 */
export function hierarchicalAlgorithm(options: HierarchicalAlgorithmOptions): Algorithm {
  const given = optionsOf(
    options,
    '{ workers: 2, within, across }',
    hierarchicalAlgorithmOptions,
  ) as HierarchicalAlgorithmOptions;
  const { workers, within, across, blocks = 1 } = given;
  if (!(Number.isInteger(workers) && workers >= 1))
    throw new ValueError('ERR_COLL_VALUE', `workers must be a whole number, 1 or more, got ${quote(workers)}`);
  if (!(Number.isInteger(blocks) && blocks >= 1))
    throw new ValueError('ERR_COLL_VALUE', `blocks must be a whole number, 1 or more, got ${quote(blocks)}`);
  for (const level of ['within', 'across'] as const) {
    const { name, plan } = Object(given[level]) as Partial<Algorithm>;
    if (typeof name !== 'string' || typeof plan !== 'function')
      throw new ValueError('ERR_COLL_VALUE', `${level} must be an algorithm, got ${quote(given[level])}`);
  }
  const refuses = (collective: Collective, ranks: number): string | undefined => {
    if (collective.kind !== 'all-reduce')
      return `a hierarchical algorithm supports all-reduce, but not ${collective.kind}`;
    if (workers === 1) return within.refuses?.(collective, ranks);
    const { op } = collective;
    const perWorker = ranks / workers;
    if (!Number.isInteger(perWorker)) return `${ranks} ranks cannot be divided evenly across ${workers} workers`;
    return (
      within.refuses?.({ kind: 'reduce', op, root: 0 }, perWorker) ??
      within.refuses?.({ kind: 'broadcast', root: 0 }, perWorker) ??
      across.refuses?.(collective, workers)
    );
  };
  return {
    name: `${within.name}/${across.name}${blocks === 1 ? '' : ` in ${blocks} blocks`}`,
    refuses,
    plan(collective, ranks) {
      const refused = refuses(collective, ranks);
      if (refused !== undefined || collective.kind !== 'all-reduce') {
        throw new ValueError('ERR_COLL_REFUSED', refused ?? collective.kind);
      }
      // With one worker, a broadcast after the reduce may send data that ranks already have.
      if (workers === 1) return within.plan(collective, ranks);
      const { op } = collective;
      const perWorker = ranks / workers;
      const up = inEachWorker(within.plan({ kind: 'reduce', op, root: 0 }, perWorker), workers);
      const down = inEachWorker(within.plan({ kind: 'broadcast', root: 0 }, perWorker), workers);
      const leaders = Array.from({ length: workers }, (_, worker) => worker * perWorker);
      const between = onRanks(across.plan({ kind: 'all-reduce', op }, workers), leaders, ranks);
      return pipelined(sequence(...inEqualChunks([up, between, down])), blocks);
    },
    // All workers do the same within, so that the first one represents them.
    representatives(collective, ranks, ranksPerWorker) {
      const perWorker = ranks / workers;
      // In a pipeline, different ranks may be busiest with different blocks.
      if (workers === 1 || blocks > 1 || collective.kind !== 'all-reduce') return undefined;
      if (perWorker % ranksPerWorker !== 0) return undefined;
      const { op } = collective;
      const between = across.representatives?.({ kind: 'all-reduce', op }, workers, 1);
      if (!between) return undefined;
      const up = within.plan({ kind: 'reduce', op, root: 0 }, perWorker);
      const down = within.plan({ kind: 'broadcast', root: 0 }, perWorker);
      const chunks = [up, between, down].map((level) => level.chunks).reduce(leastCommonMultiple);
      return { ranks, chunks, representativeRounds: levelRounds({ up, between, down, perWorker, chunks }) };
    },
  };
}

interface Levels {
  readonly up: Schedule;
  readonly between: RepresentativeSchedule;
  readonly down: Schedule;
  readonly perWorker: number;
  /** Number of chunks of all levels together. */
  readonly chunks: number;
}

/** The rounds of the first worker, the representatives of the leaders, and the first worker again. */
function* levelRounds({ up, between, down, perWorker, chunks }: Levels): Iterable<Iterable<Transfer>> {
  for (const round of up.rounds) yield inPieces(round, chunks / up.chunks, 1);
  for (const round of between.representativeRounds) yield inPieces(round, chunks / between.chunks, perWorker);
  for (const round of down.rounds) yield inPieces(round, chunks / down.chunks, 1);
}

/** Cuts the chunk of each transfer into pieces. Rank `i` becomes rank `i * distance`. */
function* inPieces(round: Iterable<Transfer>, pieces: number, distance: number): Iterable<Transfer> {
  for (const { from, to, chunk, reduce } of round) {
    const ends = { from: from * distance, to: to * distance, reduce };
    for (let piece = 0; piece < pieces; piece++) yield { ...ends, chunk: chunk * pieces + piece };
  }
}

function inEachWorker(schedule: Schedule, workers: number): Schedule {
  const { ranks } = schedule;
  const membersOf = (worker: number) => Array.from({ length: ranks }, (_, local) => worker * ranks + local);
  const copies = Array.from({ length: workers }, (_, worker) => onRanks(schedule, membersOf(worker), workers * ranks));
  return together(...copies);
}

/**
 * Returns the same schedules, with chunks split so that all schedules have the same number of
 * chunks.
 */
function inEqualChunks(schedules: readonly Schedule[]): Schedule[] {
  const total = schedules.map(({ chunks }) => chunks).reduce(leastCommonMultiple);
  return schedules.map((schedule) => refine(schedule, total / schedule.chunks));
}

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest !== 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}
