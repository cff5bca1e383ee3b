import type { Collective } from '../collectives/collective.js';

/**
 * One move: the value of `chunk` at rank `from`, as it was before the round, goes to rank `to`,
 * which stores it (`reduce: false`) or combines it with its own value (`reduce: true`).
 */
export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly chunk: number;
  readonly reduce: boolean;
}

/**
 * Concurrent moves: no chunk of a rank is both sent and written in one round, and only reductions
 * may share a target. If several transfers of a round reduce into one chunk of one rank, the
 * operands, including the target's own value, are combined from left to right in ascending order of
 * rank. Collectives without an op reduce nothing.
 */
export type Round = readonly Transfer[];

/**
 * The transfers of a collective, round by round. Every rank has places for `chunks` chunks,
 * numbered alike on all ranks.
 *
 * - All-reduce, reduce and broadcast: the chunks cut a buffer into any number of pieces.
 * - All-gather, reduce-scatter, gather and scatter: `chunks` is a multiple of `ranks`, and chunk `c`
 *   belongs to the block of rank `floor(c / (chunks / ranks))`.
 * - All-to-all: `chunks` is a multiple of `ranks * ranks`, and block `from * ranks + to` goes from
 *   rank `from` to rank `to`.
 *
 * Before the first round every rank holds its contribution: to every chunk for reductions, to its
 * own block for all-gather and gather, and to the blocks it sends for all-to-all. For broadcast and
 * scatter only the root holds data.
 */
export interface Schedule {
  readonly ranks: number;
  readonly chunks: number;
  readonly rounds: readonly Round[];
}

/**
 * A schedule whose rounds and transfers are generated while they are read, and can be read only
 * once: for groups whose schedule is too large to store.
 */
export interface StreamedSchedule {
  readonly ranks: number;
  readonly chunks: number;
  readonly rounds: Iterable<Iterable<Transfer>>;
}

/**
 * The rounds of a schedule with some of their transfers only: all those of the ranks and workers
 * that are busiest in a round. They represent the others, of which each sends, receives and
 * combines at most as much in that round. Transfers are generated while they are read, and can be
 * read only once.
 */
export interface RepresentativeSchedule {
  readonly ranks: number;
  readonly chunks: number;
  readonly representativeRounds: Iterable<Iterable<Transfer>>;
}

/**
 * Computes schedules of all ranks from a request: a pure function, without buffers, sockets or
 * clocks.
 */
export interface Algorithm {
  readonly name: string;
  /** The schedule of a collective for `ranks` ranks. Pure: equal arguments give equal schedules. */
  plan(collective: Collective, ranks: number): Schedule;
  /**
   * The schedule of `plan` as a stream, for cost estimates of thousands of ranks with millions of
   * transfers.
   */
  stream?(collective: Collective, ranks: number): StreamedSchedule;
  /**
   * The schedule of `plan` with the transfers of representatives only, for cost estimates of tens of
   * thousands of ranks. `ranksPerWorker` consecutive ranks share a port to other workers; it divides
   * `ranks`. Undefined if the algorithm knows no representatives for this request.
   */
  representatives?(collective: Collective, ranks: number, ranksPerWorker: number): RepresentativeSchedule | undefined;
  /**
   * Number of schedules for an all-reduce; `variant` of `Collective` selects one, counting from 0.
   * Undefined means one.
   */
  variants?(ranks: number): number;
  /**
   * The reason, for the user, why the algorithm has no schedule for this collective; undefined if
   * it has one.
   */
  refuses?(collective: Collective, ranks: number): string | undefined;
}
