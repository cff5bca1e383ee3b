import type { Collective, CollectiveKind } from '../collectives/collective.js';
import type { Schedule } from './schedule.js';

/** The initial and the required final state of a collective. */
export interface Goal {
  /**
   * Whether the rank holds its contribution to the chunk before the first round. If not, the rank's
   * chunk is empty at first.
   */
  contributes(rank: number, chunk: number): boolean;
  /** Whether the rank's chunk must contain every contribution exactly once after the last round. */
  receives(rank: number, chunk: number): boolean;
  /** The only rank that contributes to the chunk; undefined if all ranks do. */
  soleContributor(chunk: number): number | undefined;
  /** The only rank that receives the chunk; undefined if all ranks do. */
  soleReceiver(chunk: number): number | undefined;
}

/**
 * Whether chunks belong to blocks of ranks, instead of being pieces of a buffer that all ranks
 * have.
 */
export function hasBlocks(kind: CollectiveKind): boolean {
  return !(kind === 'all-reduce' || kind === 'reduce' || kind === 'broadcast');
}

/** Number of blocks: one per rank, for all-to-all one per pair of ranks; 1 without blocks. */
export function blockCount(kind: CollectiveKind, ranks: number): number {
  if (!hasBlocks(kind)) return 1;
  return kind === 'all-to-all' ? ranks * ranks : ranks;
}

/** The rank whose block contains a chunk. Only for collectives with one block per rank. */
export function ownerOf({ ranks, chunks }: Pick<Schedule, 'ranks' | 'chunks'>, chunk: number): number {
  return Math.floor(chunk / (chunks / ranks));
}

/** The sender and the receiver of a chunk of an all-to-all. */
export function endsOf(
  { ranks, chunks }: Pick<Schedule, 'ranks' | 'chunks'>,
  chunk: number,
): { readonly from: number; readonly to: number } {
  const block = Math.floor(chunk / (chunks / (ranks * ranks)));
  return { from: Math.floor(block / ranks), to: block % ranks };
}

/** The only rank that has a chunk; undefined if all ranks have it. */
type SoleRank = (chunk: number) => number | undefined;

const everyone: SoleRank = () => undefined;

/** The goal of a collective for a schedule's ranks and chunks. */
export function goalOf(collective: Collective, schedule: Pick<Schedule, 'ranks' | 'chunks'>): Goal {
  const [soleContributor, soleReceiver] = soleRanksOf(collective, schedule);
  return {
    soleContributor,
    soleReceiver,
    contributes: (rank, chunk) => (soleContributor(chunk) ?? rank) === rank,
    receives: (rank, chunk) => (soleReceiver(chunk) ?? rank) === rank,
  };
}

/** Who contributes to a chunk, and who receives it. */
function soleRanksOf(
  collective: Collective,
  schedule: Pick<Schedule, 'ranks' | 'chunks'>,
): readonly [SoleRank, SoleRank] {
  const owner: SoleRank = (chunk) => ownerOf(schedule, chunk);
  switch (collective.kind) {
    case 'all-reduce':
      return [everyone, everyone];
    case 'reduce':
      return [everyone, () => collective.root];
    case 'broadcast':
      return [() => collective.root, everyone];
    case 'all-gather':
      return [owner, everyone];
    case 'reduce-scatter':
      return [everyone, owner];
    case 'gather':
      return [owner, () => collective.root];
    case 'scatter':
      return [() => collective.root, owner];
    case 'all-to-all':
      return [(chunk) => endsOf(schedule, chunk).from, (chunk) => endsOf(schedule, chunk).to];
  }
}
