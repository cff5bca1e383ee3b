import type { Collective } from '../collectives/collective.js';

/**
 * One move: the value of `chunk` at rank `from`, as it was before the round, goes to rank `to`, which keeps it
 * (`reduce: false`) or combines it with its own value (`reduce: true`).
 */
export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly chunk: number;
  readonly reduce: boolean;
}

/**
 * Moves that happen together, so no chunk of a rank is both sent and written in one round, and only reductions may share a
 * target. Where several transfers of a round reduce into one chunk of one rank, the operands, its own
 * value included, are combined from left to right in ascending order of rank. Collectives without an op reduce nothing.
 */
export type Round = readonly Transfer[];

/**
 * Who sends what to whom. Every rank holds `chunks` chunks, numbered alike everywhere.
 *
 * For all-reduce, reduce and broadcast the chunks cut a buffer into any number of pieces. For all-gather, reduce-scatter, gather and
 * scatter `chunks` is a multiple of `ranks`, and chunk `c` belongs to the block of rank `floor(c / (chunks / ranks))`. For all-to-all `chunks` is a
 * multiple of `ranks * ranks`, and block `from * ranks + to` goes from rank `from` to rank `to`. Before the first round every rank
 * holds its contribution: to every chunk when reducing, to its own block for all-gather and gather, and to the blocks that go from it
 * for all-to-all; for broadcast and scatter only the root holds anything.
 */
export interface Schedule {
  readonly ranks: number;
  readonly chunks: number;
  readonly rounds: readonly Round[];
}

/** A schedule whose rounds and transfers are made while they are read, once: for groups whose schedule is too large to hold. */
export interface StreamedSchedule {
  readonly ranks: number;
  readonly chunks: number;
  readonly rounds: Iterable<Iterable<Transfer>>;
}

/** A pure function from a request to a schedule: everyone's view, without buffers, sockets or clocks. */
export interface Algorithm {
  readonly name: string;
  /** The schedule of a collective among `ranks` ranks. Pure: the same for the same arguments. */
  plan(collective: Collective, ranks: number): Schedule;
  /** The schedule of `plan` as a stream, to be priced: worth writing where thousands of ranks have millions of transfers. */
  stream?(collective: Collective, ranks: number): StreamedSchedule;
  /** How many schedules it has for an all-reduce, which `Collective`'s `variant` tells apart: 0 to one less. Absent: one. */
  variants?(ranks: number): number;
  /** Why there is no such schedule, in words for the user; absent, or undefined, when there is one. */
  refuses?(collective: Collective, ranks: number): string | undefined;
}
