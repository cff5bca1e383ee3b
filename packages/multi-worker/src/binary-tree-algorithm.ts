import type { Collective } from '@coll/core';
import { type Algorithm, type StreamedSchedule, scheduleOf, streamedLinear, type Transfer } from '@coll/core/schedule';

/**
 * Each rank combines its children's values with its own and passes the result to its parent; the
 * root's result goes down the tree in the same way. The number of rounds is twice the depth of the
 * tree, for any number of ranks. Every link carries whole buffers, so it suits small messages.
 * Pješivac-Grbović et al., "Performance analysis of MPI collective operations", 2007 (there: binary
 * tree).
 *
 *             0          up: 3, 4 +-> 1 and 5, 6 +-> 2, then 1, 2 +-> 0
 *          1     2       down: 0 --> 1, 2, then 1 --> 3, 4 and 2 --> 5, 6
 *         3 4   5 6
 *
 * A place is a position in the tree. The children of place `p` are `2p + 1` and `2p + 2`. Place 0
 * is the root of the collective, or rank 0 if it has no root. The tree is the same for all
 * elements, so bits do not depend on where chunks begin. Ranks of an all-to-all send their blocks
 * directly to each other.
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { binaryTreeAlgorithm } from '@coll/multi-worker';
 *
 * const members = openMembers({ size: 3, algorithm: binaryTreeAlgorithm() });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[2]); // Int32Array(2) [ 3, 3 ]
 * ```
 */
export function binaryTreeAlgorithm(): Algorithm {
  return algorithm;
}

const algorithm: Algorithm = {
  name: 'binary-tree',
  stream,
  plan(collective, ranks) {
    const { chunks, rounds } = stream(collective, ranks);
    return scheduleOf(ranks, chunks, rounds);
  },
};

function stream(collective: Collective, ranks: number): StreamedSchedule {
  const tree = new Tree(ranks, 'root' in collective ? collective.root : 0);
  const all = [0];
  switch (collective.kind) {
    case 'all-reduce':
      return { ranks, chunks: 1, rounds: [...up(tree, true, () => all), ...down(tree, () => all)] };
    case 'reduce':
      return { ranks, chunks: 1, rounds: up(tree, true, () => all) };
    case 'broadcast':
      return { ranks, chunks: 1, rounds: down(tree, () => all) };
    case 'all-gather': {
      const others = (place: number) => tree.ranksOutside(place);
      return {
        ranks,
        chunks: ranks,
        rounds: [...up(tree, false, (place) => tree.ranksBelow(place)), ...down(tree, others)],
      };
    }
    case 'reduce-scatter': {
      const everyone = tree.ranksBelow(0);
      const rounds = [...up(tree, true, () => everyone), ...down(tree, (place) => tree.ranksBelow(place))];
      return { ranks, chunks: ranks, rounds };
    }
    case 'gather':
      return { ranks, chunks: ranks, rounds: up(tree, false, (place) => tree.ranksBelow(place)) };
    case 'scatter':
      return { ranks, chunks: ranks, rounds: down(tree, (place) => tree.ranksBelow(place)) };
    case 'all-to-all':
      return streamedLinear(collective, ranks);
  }
}

/**
 * The rounds from the deepest level of the tree to the root: the rank at each place (position in
 * the tree) sends the chunks `chunksOf(place)` to its parent.
 */
function up(tree: Tree, reduce: boolean, chunksOf: (place: number) => readonly number[]): Transfer[][] {
  return tree.levels
    .slice(1)
    .toReversed()
    .map((places) =>
      places.flatMap((place) => {
        const [from, to] = [tree.rankAt(place), tree.rankAt(parentOf(place))];
        return chunksOf(place).map((chunk) => ({ from, to, chunk, reduce }));
      }),
    );
}

/**
 * The rounds from the root of the tree to the deepest level: the rank at each place (position in
 * the tree) receives the chunks `chunksOf(place)` from its parent.
 */
function down(tree: Tree, chunksOf: (place: number) => readonly number[]): Transfer[][] {
  return tree.levels.slice(1).map((places) =>
    places.flatMap((place) => {
      const [from, to] = [tree.rankAt(parentOf(place)), tree.rankAt(place)];
      return chunksOf(place).map((chunk) => ({ from, to, chunk, reduce: false }));
    }),
  );
}

/** A binary tree of ranks. Its positions are called places; the root is at place 0. */
class Tree {
  /** The places (positions in the tree) at each depth. */
  readonly levels: readonly (readonly number[])[];
  readonly #ranks: number;
  readonly #root: number;

  constructor(ranks: number, root: number) {
    this.#ranks = ranks;
    this.#root = root;
    const levels: number[][] = [];
    for (let first = 0; first < ranks; first = 2 * first + 1) levels.push(upTo(first, Math.min(2 * first + 1, ranks)));
    this.levels = levels;
  }

  rankAt(place: number): number {
    return (this.#root + place) % this.#ranks;
  }

  /** The ranks at a place (position in the tree) and at all places below it. */
  ranksBelow(place: number): number[] {
    const found: number[] = [];
    for (let [first, last] = [place, place]; first < this.#ranks; [first, last] = [2 * first + 1, 2 * last + 2]) {
      for (const below of upTo(first, Math.min(last + 1, this.#ranks))) found.push(this.rankAt(below));
    }
    return found;
  }

  /** The ranks that `ranksBelow(place)` does not contain. */
  ranksOutside(place: number): number[] {
    const below = new Set(this.ranksBelow(place));
    return upTo(0, this.#ranks).filter((rank) => !below.has(rank));
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 1;
}

function upTo(first: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
}
