import { type Collective, ValueError } from '@coll/core';
import {
  type Algorithm,
  hasBlocks,
  type RepresentativeSchedule,
  type StreamedSchedule,
  scheduleOf,
  streamedLinear,
  type Transfer,
} from '@coll/core/schedule';

/**
 * Partners at doubling distances exchange and combine halves of the chunks they are responsible
 * for, then exchange complete chunks on the way back. Each rank sends as few bytes as in a ring, in
 * a number of rounds that is logarithmic in the number of ranks, which must be a power of two.
 * Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
 * 2005.
 *
 *     rank            0           1           2           3
 *     chunks        0 1 2 3     0 1 2 3     0 1 2 3     0 1 2 3
 *     0 with 1      0 1 . .     . . 2 3     0 1 . .     . . 2 3      the lower one keeps the first half
 *     0 with 2      0 . . .     . . 2 .     . 1 . .     . . . 3      rank r completes the chunk of its reversed bits
 *
 * Pairs combine the lower rank's value first, and the tree is the same for all elements, so bits
 * do not depend on where chunks begin. Ranks of a gather, a scatter or an all-to-all send their
 * blocks directly to each other.
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { recursiveHalvingDoublingAlgorithm } from '@coll/multi-worker';
 *
 * const members = openMembers({ size: 4, algorithm: recursiveHalvingDoublingAlgorithm() });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[3]); // Int32Array(2) [ 6, 4 ]
 * ```
 */
export function recursiveHalvingDoublingAlgorithm(): Algorithm {
  return algorithm;
}

const algorithm: Algorithm = {
  name: 'recursive-halving-doubling',
  refuses: (_, ranks) => refusal(ranks),
  stream,
  representatives,
  plan(collective, ranks) {
    const { chunks, rounds } = stream(collective, ranks);
    return scheduleOf(ranks, chunks, rounds);
  },
};

function refusal(ranks: number): string | undefined {
  return Number.isInteger(Math.log2(ranks))
    ? undefined
    : `for recursive halving-doubling the number of ranks must be a power of two, got ${ranks}`;
}

function stream(collective: Collective, ranks: number): StreamedSchedule {
  const refused = refusal(ranks);
  if (refused !== undefined) throw new ValueError('ERR_COLL_REFUSED', refused);
  if (collective.kind === 'gather' || collective.kind === 'scatter' || collective.kind === 'all-to-all')
    return streamedLinear(collective, ranks);
  return { ranks, chunks: ranks, rounds: roundsOf(collective, cubeOf(ranks, hasBlocks(collective.kind))) };
}

/**
 * The first worker and, in each round, its partner represent all others: the first worker is
 * responsible for the first chunks, which are the longest.
 */
function representatives(
  collective: Collective,
  ranks: number,
  ranksPerWorker: number,
): RepresentativeSchedule | undefined {
  const { kind } = collective;
  if (kind !== 'all-reduce' && kind !== 'reduce-scatter' && kind !== 'all-gather') return undefined;
  const cube = cubeOf(ranks, hasBlocks(kind));
  return { ranks, chunks: ranks, representativeRounds: roundsOf(collective, { ...cube, active: ranksPerWorker }) };
}

/**
 * The ranks as corners of a hypercube: partners in dimension `h` differ in bit `h` of their rank.
 */
interface Cube {
  readonly ranks: number;
  /** Number of ranks, from rank 0, whose chunks move: all of them or, for estimates, a worker's. */
  readonly active: number;
  /** The distances between partners: 1, 2, 4 and so on, up to half the number of ranks. */
  readonly distances: readonly number[];
  /**
   * The chunk that a rank completes: its own block or, in a collective without blocks, the chunk
   * whose index has the rank's bits in reverse order.
   */
  chunkOf(owner: number): number;
}

function cubeOf(ranks: number, blocks: boolean): Cube {
  const distances = Array.from({ length: Math.log2(ranks) }, (_, dimension) => 2 ** dimension);
  const reversed = (owner: number) =>
    distances.reduce((chunk, distance) => chunk * 2 + ((owner & distance) === 0 ? 0 : 1), 0);
  return { ranks, active: ranks, distances, chunkOf: blocks ? (owner) => owner : reversed };
}

function* roundsOf(collective: Collective, cube: Cube): Generator<Iterable<Transfer>> {
  const outwards = cube.distances;
  const back = cube.distances.toReversed();
  switch (collective.kind) {
    case 'all-reduce':
      for (const distance of outwards) yield halve(cube, distance);
      for (const distance of back) yield double(cube, distance);
      return;
    case 'reduce-scatter':
      for (const distance of outwards) yield halve(cube, distance);
      return;
    case 'all-gather':
      for (const distance of back) yield double(cube, distance);
      return;
    case 'reduce': {
      const { root } = collective;
      for (const distance of outwards) yield halve(cube, distance);
      for (const distance of back) yield double(cube, distance, (rank) => isNear(rank, root, distance));
      return;
    }
    case 'broadcast': {
      const { root } = collective;
      for (const distance of outwards) yield scatter(cube, distance, root);
      // Ranks that forwarded some of the root's data still have it.
      for (const distance of back) yield double(cube, distance, (rank) => !isNear(rank, root, distance));
    }
  }
}

/**
 * Every rank receives the half of the chunks that it keeps from its partner, and combines these
 * chunks with its own.
 */
function* halve(cube: Cube, distance: number): Generator<Transfer> {
  for (let to = 0; to < cube.active; to++) {
    for (const chunk of chunksOf(cube, to, distance)) yield { from: partnerOf(to, distance), to, chunk, reduce: true };
  }
}

/** Every rank for which `takes` is true receives the complete chunks of its partner. */
function* double(cube: Cube, distance: number, takes: (rank: number) => boolean = () => true): Generator<Transfer> {
  for (let to = 0; to < cube.ranks; to++) {
    const from = partnerOf(to, distance);
    if (from >= cube.active || !takes(to)) continue;
    for (const chunk of chunksOf(cube, from, distance)) yield { from, to, chunk, reduce: false };
  }
}

/** Each rank that holds some of the root's data sends half of it to its partner. */
function* scatter(cube: Cube, distance: number, root: number): Generator<Transfer> {
  for (let from = 0; from < cube.ranks; from++) {
    if (!isNear(from, root, distance)) continue;
    const to = partnerOf(from, distance);
    for (const chunk of chunksOf(cube, to, distance)) yield { from, to, chunk, reduce: false };
  }
}

/** The chunks that a rank is responsible for after exchanges with partners up to this distance. */
function* chunksOf({ ranks, chunkOf }: Cube, rank: number, distance: number): Generator<number> {
  for (let owner = rank % (2 * distance); owner < ranks; owner += 2 * distance) yield chunkOf(owner);
}

function partnerOf(rank: number, distance: number): number {
  return rank ^ distance;
}

/**
 * Whether a rank and the root are in the same block of `distance` ranks, and so exchange chunks,
 * directly or through others, in the steps with smaller distances.
 */
function isNear(rank: number, root: number, distance: number): boolean {
  return Math.floor(rank / distance) === Math.floor(root / distance);
}
