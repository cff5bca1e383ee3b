import { type Collective, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote, requireList } from '@coll/core/internal';
import {
  type Algorithm,
  hasBlocks,
  type StreamedSchedule,
  scheduleOf,
  streamedLinear,
  type Transfer,
} from '@coll/core/schedule';

// The largest group size.
const mostRanks = 2 ** 16;

/** The rings around which chunks travel. */
export interface RingAlgorithmOptions {
  /**
   * Number of pieces of each chunk, each of which travels around its own ring; 1 to the number of
   * ranks per worker. Default: 1.
   */
  readonly subChunks?: number | undefined;
  /**
   * Number of workers. Ranks are numbered worker by worker, with equally many ranks in each worker;
   * a ring enters each worker once. Default: 1.
   */
  readonly workers?: number | undefined;
  /**
   * The order in which a ring visits a worker's ranks, numbered from 0 within the worker. Default:
   * ascending.
   */
  readonly order?: readonly number[] | undefined;
}

const ringAlgorithmOptions = knownOptions<RingAlgorithmOptions>('ringAlgorithm', {
  subChunks: true,
  workers: true,
  order: true,
});

/**
 * The rings of all sub-chunks, one ring per sub-chunk. Lists are indexed by sub-chunk, then by
 * device.
 */
export interface RingPermutations {
  /** The position of each device in each ring, by sub-chunk, then by device. */
  readonly ranks: readonly (readonly number[])[];
  /** The device before each device in each ring, by sub-chunk, then by device. */
  readonly predecessors: readonly (readonly number[])[];
}

/**
 * Every chunk travels around a ring twice: first it collects all contributions, then its result is
 * copied to all ranks. No algorithm sends fewer bytes per rank: Patarasuk and Yuan, "Bandwidth
 * optimal all-reduce algorithms for clusters of workstations", 2009.
 *
 *     tick         0     1     2     3
 *     chunk 0   1 +-> 2 +-> 0 --> 1 --> 2     +-> combines, --> copies; the rank at position k of the ring
 *     chunk 1   2 +-> 0 +-> 1 --> 2 --> 0     completes segment k of the buffer
 *     chunk 2   0 +-> 1 +-> 2 --> 0 --> 1
 *
 * Ranks of a gather, a scatter or an all-to-all send their blocks directly to each other.
 * @throws ValueError for invalid options
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const members = openMembers({ size: 2, algorithm: ringAlgorithm() });
 * const sums = await Promise.all(members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))));
 * console.log(sums[1]); // Int32Array(2) [ 1, 2 ]
 * ```
 */
export function ringAlgorithm(options?: RingAlgorithmOptions): Algorithm {
  const { subChunks = 1, workers = 1, order } = optionsOf(options, '{ subChunks: 2 }', ringAlgorithmOptions);
  validate(subChunks, workers, order);
  const refuses = (_: Collective, ranks: number): string | undefined => {
    const perWorker = ranks / workers;
    if (ranks === 1) return undefined;
    if (!Number.isInteger(perWorker)) return `${ranks} ranks cannot be divided evenly across ${workers} workers`;
    if (order && order.length !== perWorker)
      return `order must contain each rank of a worker, got ${order.length} ranks for a worker of ${perWorker}`;
    return subChunks > perWorker ? tooManySubChunks(subChunks, perWorker) : undefined;
  };
  const ringsFor = ({ kind }: Collective, ranks: number): Rings => {
    const visited = order ?? Array.from({ length: ranks / workers }, (_, rank) => rank);
    return ringsOf(ringPermutations(workers, subChunks, visited), hasBlocks(kind));
  };
  const stream = (collective: Collective, ranks: number): StreamedSchedule => {
    const refused = refuses(collective, ranks);
    if (refused !== undefined) throw new ValueError('ERR_COLL_REFUSED', refused);
    if (ranks === 1) return { ranks, chunks: subChunks, rounds: [] };
    if (collective.kind === 'gather' || collective.kind === 'scatter' || collective.kind === 'all-to-all')
      return streamedLinear(collective, ranks);
    return { ranks, chunks: ranks * subChunks, rounds: roundsOf(collective, ringsFor(collective, ranks)) };
  };
  return {
    name: 'ring',
    refuses,
    stream,
    representatives(collective, ranks, ranksPerWorker) {
      const { kind } = collective;
      if (ranks === 1 || (kind !== 'all-reduce' && kind !== 'reduce-scatter' && kind !== 'all-gather'))
        return undefined;
      // If all rings visit ranks in ascending order, blocks of a ring may be shorter than its workers.
      const isAscending = order === undefined && subChunks === 1;
      const block = isAscending ? ranksPerWorker : leastCommonMultiple(ranks / workers, ranksPerWorker);
      const rings = { ...ringsFor(collective, ranks), block };
      return { ranks, chunks: ranks * subChunks, representativeRounds: roundsOf(collective, rings) };
    },
    plan(collective, ranks) {
      const { chunks, rounds } = stream(collective, ranks);
      return scheduleOf(ranks, chunks, rounds);
    },
  };
}

/**
 * Returns one ring through all devices for each sub-chunk. A ring visits worker after worker, and
 * within a worker the devices in the order of `gpuPerm`. The order is rotated by a different amount
 * for each sub-chunk, so that rings use different links at the same time.
 *
 *     2 workers, 2 sub-chunks, gpuPerm [1, 0]:   1 -> 0 -> 3 -> 2   and   0 -> 1 -> 2 -> 3
 *
 * @throws ValueError for invalid counts or an invalid `gpuPerm`, or if there are more sub-chunks
 * than devices per worker
 */
export function ringPermutations(
  numWorkers: number,
  numSubchunks: number,
  gpuPerm: readonly number[],
): RingPermutations {
  for (const [name, count] of Object.entries({ numWorkers, numSubchunks }))
    if (!(Number.isInteger(count) && count >= 0 && count <= mostRanks))
      throw new ValueError(
        'ERR_COLL_VALUE',
        `${name} must be a whole number from 0 to ${mostRanks}, got ${quote(count)}`,
      );
  requireList(gpuPerm, 'gpuPerm');
  const perWorker = gpuPerm.length;
  if (perWorker * numWorkers === 0) return { ranks: [], predecessors: [] };
  requireOrder(gpuPerm);
  if (numSubchunks > perWorker) throw new ValueError('ERR_COLL_VALUE', tooManySubChunks(numSubchunks, perWorker));
  const rotation = Math.max(1, Math.floor(perWorker / numSubchunks));
  const orders = Array.from({ length: numSubchunks }, (_, subChunk) => {
    const first = subChunk * rotation;
    const rotated = [...gpuPerm.slice(first), ...gpuPerm.slice(0, first)];
    return Array.from({ length: numWorkers }, (_, worker) => rotated.map((gpu) => worker * perWorker + gpu)).flat();
  });
  const ranks = orders.map(inverse);
  const before = (order: readonly number[], position: number) => order.at(position - 1) as number;
  const predecessors = orders.map((order, ring) =>
    (ranks[ring] as number[]).map((position) => before(order, position)),
  );
  return { ranks, predecessors };
}

/** The rings of a schedule, and the chunks that travel around them. */
interface Rings extends RingPermutations {
  /** The device that completes each segment in each ring, by sub-chunk, then by segment. */
  readonly owners: readonly (readonly number[])[];
  /**
   * Number of consecutive positions after which the rings repeat themselves. If given, a round has
   * only the transfers of the busiest blocks.
   */
  readonly block?: number;
  chunkOf(segment: number, subChunk: number): number;
}

function ringsOf(permutations: RingPermutations, blocks: boolean): Rings {
  const owners = permutations.ranks.map(inverse);
  // A segment of a buffer may be completed at any rank, but the block of a rank must be completed
  // at that rank, whatever its position in the ring.
  const segmentAt = (segment: number, subChunk: number) => (blocks ? (owners[subChunk]?.[segment] as number) : segment);
  const chunkOf = (segment: number, subChunk: number) => segmentAt(segment, subChunk) * owners.length + subChunk;
  return { ...permutations, owners, chunkOf };
}

/** The rounds of a schedule, generated while they are read. */
type Rounds = Iterable<Iterable<Transfer>>;

/** The rounds of a collective that uses the rings. */
function* roundsOf(collective: Collective, rings: Rings): Rounds {
  switch (collective.kind) {
    case 'all-reduce':
      yield* collect(rings);
      yield* distribute(rings);
      break;
    case 'reduce-scatter':
      yield* collect(rings);
      break;
    case 'all-gather':
      yield* distribute(rings);
      break;
    case 'reduce':
      yield* collect(rings);
      yield ownersTo(collective.root, rings);
      break;
    case 'broadcast':
      yield toOwners(collective.root, rings);
      // Owners received their chunks from the root, so they need not send them back to it.
      for (const round of distribute(rings)) yield [...round].filter(({ to }) => to !== collective.root);
      break;
  }
}

/** The rounds after which every segment is complete at its owner: the device that completes it. */
function collect(rings: Rings): Rounds {
  return around(rings, (position, tick) => position - 2 - tick, true);
}

/**
 * The rounds that copy every segment from its owner (the device that completes it) to all ranks.
 */
function distribute(rings: Rings): Rounds {
  return around(rings, (position, tick) => position - 1 - tick, false);
}

/**
 * Yields one round per tick. In a round, the device at each position of a ring receives a segment
 * from its predecessor: the segment `segmentAt(position, tick)`, modulo the number of devices.
 */
function* around(rings: Rings, segmentAt: (position: number, tick: number) => number, reduce: boolean): Rounds {
  const devices = rings.ranks[0]?.length ?? 0;
  for (let tick = 0; tick < devices - 1; tick++) {
    yield arrivals(rings, (position) => (segmentAt(position, tick) + devices) % devices, reduce);
  }
}

function* arrivals(rings: Rings, segmentAt: (position: number) => number, reduce: boolean): Iterable<Transfer> {
  const { ranks, predecessors, owners, chunkOf } = rings;
  const arrivalOf = (subChunk: number, to: number, position: number): Transfer => {
    const from = predecessors[subChunk]?.[to] as number;
    return { from, to, chunk: chunkOf(segmentAt(position), subChunk), reduce };
  };
  const some = busiest(rings, segmentAt);
  for (const [subChunk, ring] of ranks.entries()) {
    if (!some) for (const [to, position] of ring.entries()) yield arrivalOf(subChunk, to, position);
    else for (const position of some) yield arrivalOf(subChunk, owners[subChunk]?.[position] as number, position);
  }
}

/**
 * The positions at which segments arrive from or at the busiest blocks: the block that sends the
 * first segment, which is the longest, and the two blocks behind it. Segments become shorter from
 * there on, all around the ring. Undefined if these are all positions.
 */
function busiest(
  { ranks: [ring = []], block }: Rings,
  segmentAt: (position: number) => number,
): readonly number[] | undefined {
  const count = 3 * (block ?? 0) + 1;
  if (block === undefined || count >= ring.length) return undefined;
  // Position p receives segment p + segmentAt(0), and sends one more than that.
  const sender = (2 * ring.length - segmentAt(0) - 1) % ring.length;
  const first = sender - (sender % block);
  return Array.from({ length: count }, (_, index) => (first + index) % ring.length);
}

function ownersTo(root: number, rings: Rings): readonly Transfer[] {
  return owned(rings, root).map(([owner, chunk]) => ({ from: owner, to: root, chunk, reduce: false }));
}

function toOwners(root: number, rings: Rings): readonly Transfer[] {
  return owned(rings, root).map(([owner, chunk]) => ({ from: root, to: owner, chunk, reduce: false }));
}

/**
 * All chunks, each with the rank that completes it, without the chunks that rank `except`
 * completes.
 */
function owned({ owners, chunkOf }: Rings, except: number): (readonly [owner: number, chunk: number])[] {
  const all = owners.flatMap((ring, subChunk) =>
    ring.map((owner, segment) => [owner, chunkOf(segment, subChunk)] as const),
  );
  return all.filter(([owner]) => owner !== except);
}

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest !== 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}

function inverse(permutation: readonly number[]): number[] {
  const inverted = permutation.map(() => 0);
  for (const [index, value] of permutation.entries()) inverted[value] = index;
  return inverted;
}

function tooManySubChunks(subChunks: number, perWorker: number): string {
  return `subChunks must not exceed the ranks per worker, got ${subChunks} sub-chunks for ${perWorker} ranks per worker`;
}

function validate(subChunks: number, workers: number, order: readonly number[] = [0]): void {
  for (const [name, count] of Object.entries({ subChunks, workers })) {
    if (Number.isInteger(count) && count >= 1) continue;
    throw new ValueError('ERR_COLL_VALUE', `${name} must be 1 or more, got ${quote(count)}`);
  }
  requireOrder(order);
}

function requireOrder(order: readonly number[]): void {
  requireList(order, 'order');
  if (
    order.length > 0 &&
    order.every(Number.isInteger) &&
    order.toSorted((a, b) => a - b).every((rank, index) => rank === index)
  )
    return;
  const message = `order must contain each rank of a worker once, starting from 0, got ${quote(order)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}
