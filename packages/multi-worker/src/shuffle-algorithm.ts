import { type Collective, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { type Algorithm, scheduleOf, type Transfer } from '@coll/core/schedule';

/** The ranks that combine chunks. */
export interface ShuffleAlgorithmOptions {
  /** Rank `gatherRanks[g]` combines chunk `g`. A rank may be listed more than once. */
  readonly gatherRanks: readonly number[];
}

const shuffleAlgorithmOptions = knownOptions<ShuffleAlgorithmOptions>('shuffleAlgorithm', { gatherRanks: true });

/**
 * Some ranks are parameter servers: each combines its chunk of every rank's buffer, in rank order,
 * and sends the result to every rank. With one server this is a reduction to one device; with all
 * ranks, the `direct` algorithm. Bits do not depend on the number of servers.
 *
 *     gatherRanks [0, 2]      chunk 0: 1, 2, 3 +-> 0 --> 1, 2, 3
 *                             chunk 1: 0, 1, 3 +-> 2 --> 0, 1, 3
 *
 * Li et al., "Scaling distributed machine learning with the parameter server", 2014. All-reduce
 * only.
 *
 * @throws ValueError for an empty list or an invalid rank
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { shuffleAlgorithm } from '@coll/multi-worker';
 *
 * const members = openMembers({ size: 3, algorithm: shuffleAlgorithm({ gatherRanks: [0, 2] }) });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[2]); // Int32Array(2) [ 3, 3 ]
 * ```
 */
export function shuffleAlgorithm(options: ShuffleAlgorithmOptions): Algorithm {
  const { gatherRanks } = optionsOf(
    options,
    '{ gatherRanks: [0] }',
    shuffleAlgorithmOptions,
  ) as ShuffleAlgorithmOptions;
  const isList = Array.isArray(gatherRanks) && gatherRanks.length > 0;
  if (!isList || !gatherRanks.every((rank) => Number.isInteger(rank) && rank >= 0)) {
    throw new ValueError('ERR_COLL_VALUE', `gatherRanks must be a list of ranks, got ${quote(gatherRanks)}`);
  }
  const refuses = ({ kind }: Collective, ranks: number): string | undefined => {
    if (kind !== 'all-reduce') return `the shuffle algorithm supports all-reduce, but not ${kind}`;
    const absent = gatherRanks.find((rank) => rank >= ranks);
    return absent === undefined ? undefined : `gatherRanks contains rank ${absent}, but there are only ${ranks} ranks`;
  };
  const stream = (collective: Collective, ranks: number) => {
    const refused = refuses(collective, ranks);
    if (refused !== undefined) throw new ValueError('ERR_COLL_REFUSED', refused);
    return { ranks, chunks: gatherRanks.length, rounds: ranks === 1 ? [] : shuffleRounds(gatherRanks, ranks) };
  };
  return {
    name: 'shuffle',
    refuses,
    stream,
    // The rank that combines the first chunk, which is the longest, represents all others. If a rank
    // combines several chunks, or ranks share a port, another one may be busier.
    representatives(_, ranks, ranksPerWorker) {
      if (ranksPerWorker > 1 || new Set(gatherRanks).size < gatherRanks.length) return undefined;
      const representativeRounds = ranks === 1 ? [] : shuffleRounds(gatherRanks.slice(0, 1), ranks);
      return { ranks, chunks: gatherRanks.length, representativeRounds };
    },
    plan(collective, ranks) {
      const { chunks, rounds } = stream(collective, ranks);
      return scheduleOf(ranks, chunks, rounds);
    },
  };
}

function* shuffleRounds(gatherRanks: readonly number[], ranks: number): Generator<Iterable<Transfer>> {
  yield moves(gatherRanks, ranks, (gatherer, other, chunk) => ({ from: other, to: gatherer, chunk, reduce: true }));
  yield moves(gatherRanks, ranks, (gatherer, other, chunk) => ({ from: gatherer, to: other, chunk, reduce: false }));
}

/** Yields one transfer between each gathering rank and each other rank. */
function* moves(
  gatherRanks: readonly number[],
  ranks: number,
  moveOf: (gatherer: number, other: number, chunk: number) => Transfer,
): Generator<Transfer> {
  for (const [chunk, gatherer] of gatherRanks.entries()) {
    for (let other = 0; other < ranks; other++) if (other !== gatherer) yield moveOf(gatherer, other, chunk);
  }
}
