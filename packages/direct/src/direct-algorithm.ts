import type { Collective } from '@coll/core';
import {
  type Algorithm,
  type RepresentativeSchedule,
  type StreamedSchedule,
  scheduleOf,
  streamedLinear,
  type Transfer,
} from '@coll/core/schedule';

/**
 * Every rank exchanges chunks with every other rank: rank r combines chunk r of all ranks, in rank
 * order, and sends the result to all. This takes two rounds for any number of ranks, and each rank
 * sends as few bytes as in a ring. It is the linear reduce-scatter and all-gather of MPI libraries:
 * Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
 * 2005.
 *
 *     rank      0    1    2             0    1    2             0    1    2
 *     chunk 0   a0   b0   c0            S0   .    .             S0   S0   S0
 *     chunk 1   a1   b1   c1  combine   .    S1   .   hand out  S1   S1   S1
 *     chunk 2   a2   b2   c2            .    .    S2            S2   S2   S2
 *
 * Gather, scatter and all-to-all use the single round of `linear`.
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
 * const sums = await Promise.all(members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))));
 * console.log(sums[1]); // Int32Array(2) [ 1, 2 ]
 * ```
 */
export function directAlgorithm(): Algorithm {
  return algorithm;
}

const algorithm: Algorithm = {
  name: 'direct',
  stream,
  representatives,
  plan(collective, ranks) {
    const { chunks, rounds } = stream(collective, ranks);
    return scheduleOf(ranks, chunks, rounds);
  },
};

function stream(collective: Collective, ranks: number): StreamedSchedule {
  const inChunks = (...rounds: readonly Iterable<Transfer>[]) => ({ ranks, chunks: ranks, rounds });
  switch (collective.kind) {
    case 'all-reduce':
      return inChunks(combine(ranks), handOut(ranks));
    case 'reduce-scatter':
      return inChunks(combine(ranks));
    case 'all-gather':
      return inChunks(handOut(ranks));
    case 'reduce':
      return inChunks(
        combine(ranks),
        [...handOut(ranks)].filter(({ to }) => to === collective.root),
      );
    case 'broadcast':
      return inChunks(
        scatter(collective.root, ranks),
        [...handOut(ranks)].filter(({ to }) => to !== collective.root),
      );
    default:
      return streamedLinear(collective, ranks);
  }
}

/**
 * The first worker represents all others: its chunks are the longest, and every other rank sends
 * to them or receives them.
 */
function representatives(
  { kind }: Collective,
  ranks: number,
  ranksPerWorker: number,
): RepresentativeSchedule | undefined {
  const inChunks = (...representativeRounds: readonly Iterable<Transfer>[]) => {
    return { ranks, chunks: ranks, representativeRounds };
  };
  if (ranks === 1) return inChunks();
  switch (kind) {
    case 'all-reduce':
      return inChunks(combine(ranks, ranksPerWorker), handOut(ranks, ranksPerWorker));
    case 'reduce-scatter':
      return inChunks(combine(ranks, ranksPerWorker));
    case 'all-gather':
      return inChunks(handOut(ranks, ranksPerWorker));
    default:
      return undefined;
  }
}

/**
 * Yields the transfers of a round in which every rank sends chunk r to rank r, which combines the
 * chunks. Only the chunks of the first `owners` ranks.
 */
function* combine(ranks: number, owners = ranks): Iterable<Transfer> {
  for (let from = 0; from < ranks; from++) {
    for (let to = 0; to < owners; to++) if (to !== from) yield { from, to, chunk: to, reduce: true };
  }
}

/**
 * Yields the transfers of a round in which each of the first `owners` ranks sends its chunk to
 * every other rank.
 */
function* handOut(ranks: number, owners = ranks): Iterable<Transfer> {
  for (let from = 0; from < owners; from++) {
    for (let to = 0; to < ranks; to++) if (to !== from) yield { from, to, chunk: from, reduce: false };
  }
}

/** The transfers of a round in which the root sends chunk r to each rank r. */
function scatter(root: number, ranks: number): readonly Transfer[] {
  const others = Array.from({ length: ranks }, (_, rank) => rank).filter((rank) => rank !== root);
  return others.map((to) => ({ from: root, to, chunk: to, reduce: false }));
}
