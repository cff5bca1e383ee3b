import { type Collective, nameOf, opOf, rootOf } from '../collectives/collective.js';
import { isReduceOp } from '../collectives/reduce-op.js';
import { CollError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { blockCount, goalOf } from './goal.js';
import type { Round, Schedule, Transfer } from './schedule.js';

/**
 * Proves that a schedule performs a collective, for every input and every timing of the moves
 * within a round, and that no transfer is redundant.
 *
 * @throws CollError (`ERR_COLL_SCHEDULE`) that describes the first problem
 */
export function verify(schedule: Schedule, collective: Collective): void {
  const problem = problemOf(schedule, collective);
  if (problem === undefined) return;
  const operation = nameOf(collective);
  throw new CollError('ERR_COLL_SCHEDULE', `the schedule is not correct for ${operation}: ${problem}`, { operation });
}

/** The first problem of a schedule for this collective, as text; undefined if it is correct. */
export function problemOf(schedule: Schedule, collective: Collective): string | undefined {
  const malformed = shapeProblem(schedule, collective);
  if (malformed !== undefined) return malformed;
  const run = new SymbolicRun(schedule, collective);
  for (const [index, round] of schedule.rounds.entries()) {
    const problem = run.play(index, round);
    if (problem !== undefined) return `round ${index}: ${problem}`;
  }
  return run.endProblem() ?? run.needlessTransfer();
}

// More than any supported group needs; a larger request is a mistake that would exhaust the memory.
const mostPlaces = 2 ** 26;

function shapeProblem(schedule: Schedule, collective: Collective): string | undefined {
  const { ranks, chunks, rounds } = Object(schedule) as Partial<Schedule>;
  if (ranks === undefined || chunks === undefined || !Array.isArray(rounds))
    return `a schedule must be { ranks, chunks, rounds }, got ${quote(schedule)}`;
  if (!(Number.isInteger(ranks) && ranks >= 1)) return `ranks must be a whole number, 1 or more, got ${ranks}`;
  if (!(Number.isInteger(chunks) && chunks >= 1)) return `chunks must be a whole number, 1 or more, got ${chunks}`;
  if (ranks * chunks > mostPlaces) return `${chunks} chunks are too many for ${ranks} ranks`;
  if (chunks % blockCount(collective.kind, ranks) !== 0) {
    const each = collective.kind === 'all-to-all' ? 'each pair' : 'each';
    return `${chunks} chunks cannot be divided into one block for ${each} of ${ranks} ranks`;
  }
  const root = rootOf(collective);
  if (root !== undefined && !isBelow(ranks, root)) return `root must be one of the ${ranks} ranks, got rank ${root}`;
  const op = opOf(collective);
  return op === undefined || isReduceOp(op.toUpperCase()) ? undefined : `unknown op "${op}"`;
}

function isBelow(limit: number, value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < limit;
}

/** The first transfer that counted a contribution twice in a place (a chunk of a rank). */
interface Spoil {
  readonly twice: bigint;
  readonly round: number;
  readonly transfer: Transfer;
}

/**
 * Executes a schedule on sets instead of numbers. Values are updated at once, which is safe because
 * no place (a chunk of a rank) may be both read and written in one round.
 */
class SymbolicRun {
  readonly #schedule: Schedule;
  readonly #goal;
  readonly #combines: boolean;
  readonly #contributions: readonly bigint[];
  // By place, `rank * chunks + chunk`: bit r of `held` is set if the contribution of rank r is
  // included; 0 means empty.
  readonly #held: bigint[] = [];
  readonly #spoils: (Spoil | undefined)[] = [];
  // By place: one more than the last round in which it was read or written.
  readonly #read: Int32Array;
  readonly #copied: Int32Array;
  readonly #reduced: Int32Array;
  /** Describes the first transfer that copied a value to a rank that already had it. */
  #repeated: string | undefined;

  constructor(schedule: Schedule, collective: Collective) {
    const { ranks, chunks } = schedule;
    this.#schedule = schedule;
    this.#goal = goalOf(collective, schedule);
    this.#combines = opOf(collective) !== undefined;
    this.#read = new Int32Array(ranks * chunks);
    this.#copied = new Int32Array(ranks * chunks);
    this.#reduced = new Int32Array(ranks * chunks);
    this.#contributions = Array.from({ length: ranks }, (_, rank) => 1n << BigInt(rank));
    for (const [rank, own] of this.#contributions.entries()) {
      for (let chunk = 0; chunk < chunks; chunk++) this.#held.push(this.#goal.contributes(rank, chunk) ? own : 0n);
    }
  }

  /** Executes a round. Returns the problem of its first invalid transfer. */
  play(index: number, round: Round): string | undefined {
    if (!Array.isArray(round)) return `a round must be a list of transfers, got ${quote(round)}`;
    for (const transfer of round) {
      const problem = this.#malformed(transfer) ?? this.#race(index + 1, transfer) ?? this.#absence(transfer);
      if (problem !== undefined) return problem;
      this.#move(index, transfer);
    }
    return undefined;
  }

  endProblem(): string | undefined {
    const { ranks, chunks } = this.#schedule;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const all = this.#contributions.reduce(
        (mask, own, rank) => (this.#goal.contributes(rank, chunk) ? mask | own : mask),
        0n,
      );
      for (let rank = 0; rank < ranks; rank++) {
        const problem = this.#goal.receives(rank, chunk) ? this.#outputProblem(rank, chunk, all) : undefined;
        if (problem !== undefined) return `after the last round ${problem}`;
      }
    }
    return undefined;
  }

  /**
   * Describes a redundant transfer: the target rank already has the value, or never uses the value
   * afterwards. Valid only if the schedule has no other problem.
   */
  needlessTransfer(): string | undefined {
    if (this.#repeated !== undefined) return this.#repeated;
    const { ranks, chunks, rounds } = this.#schedule;
    // By place, from the last round back to the first: whether its value after the round is used.
    const isUsed = Array.from({ length: ranks * chunks }, (_, place) =>
      this.#goal.receives(Math.floor(place / chunks), place % chunks),
    );
    for (let index = rounds.length - 1; index >= 0; index--) {
      // No place is both read and written in a round, so the order of its transfers does not
      // matter.
      for (const transfer of rounds[index] as Round) {
        const { from, to, chunk, reduce } = transfer;
        const target = to * chunks + chunk;
        if (!isUsed[target])
          return `round ${index}: ${wordsOf(transfer)}, which does not use the chunk: remove this transfer`;
        if (!reduce) isUsed[target] = false;
        isUsed[from * chunks + chunk] = true;
      }
    }
    return undefined;
  }

  #outputProblem(rank: number, chunk: number, all: bigint): string | undefined {
    const place = rank * this.#schedule.chunks + chunk;
    const held = this.#held[place] as bigint;
    if (held === 0n) return `rank ${rank} has no chunk ${chunk}`;
    if (held !== all) return `chunk ${chunk} at rank ${rank} lacks the contribution of ${ranksIn(all & ~held)}`;
    const spoil = this.#spoils[place];
    if (!spoil) return undefined;
    const { twice, round, transfer } = spoil;
    const where = `first in round ${round}, when rank ${transfer.to} gets it from rank ${transfer.from}`;
    return `chunk ${chunk} at rank ${rank} has the contribution of ${ranksIn(twice)} more than once, ${where}`;
  }

  #malformed(transfer: Transfer): string | undefined {
    const { ranks, chunks } = this.#schedule;
    const { from, to, chunk, reduce } = Object(transfer) as Transfer;
    if (typeof reduce !== 'boolean') return `a transfer must be { from, to, chunk, reduce }, got ${quote(transfer)}`;
    if (!isBelow(ranks, from)) return `${wordsOf(transfer)}, but the ranks are 0 to ${ranks - 1}, not ${from}`;
    if (!isBelow(ranks, to)) return `${wordsOf(transfer)}, but the ranks are 0 to ${ranks - 1}, not ${to}`;
    if (!isBelow(chunks, chunk)) return `${wordsOf(transfer)}, but the chunks are 0 to ${chunks - 1}`;
    if (from === to) return `${wordsOf(transfer)}, but a rank cannot send to itself`;
    if (reduce && !this.#combines) return `${wordsOf(transfer)}, but this collective does not reduce`;
    return undefined;
  }

  #race(stamp: number, transfer: Transfer): string | undefined {
    const { from, to, chunk, reduce } = transfer;
    const source = from * this.#schedule.chunks + chunk;
    const target = to * this.#schedule.chunks + chunk;
    if (this.#copied[source] === stamp || this.#reduced[source] === stamp) {
      return `${wordsOf(transfer)} while chunk ${chunk} at rank ${from} is being written`;
    }
    if (this.#read[target] === stamp) return `${wordsOf(transfer)} while rank ${to} sends its chunk`;
    if (this.#copied[target] === stamp || (this.#reduced[target] === stamp && !reduce)) {
      return `${wordsOf(transfer)} while another rank writes the same chunk there`;
    }
    return undefined;
  }

  // Only the source can be empty: in reductions every rank contributes to every chunk.
  #absence(transfer: Transfer): string | undefined {
    const { from, chunk } = transfer;
    const isThere = this.#held[from * this.#schedule.chunks + chunk] !== 0n;
    return isThere ? undefined : `${wordsOf(transfer)}, but rank ${from} does not have that chunk`;
  }

  #move(round: number, transfer: Transfer): void {
    const { from, to, chunk, reduce } = transfer;
    const source = from * this.#schedule.chunks + chunk;
    const target = to * this.#schedule.chunks + chunk;
    const moved = this.#held[source] as bigint;
    const own = reduce ? (this.#held[target] as bigint) : 0n;
    const twice = own & moved;
    if (!reduce && moved === this.#held[target] && !this.#spoils[target])
      this.#repeated ??= `round ${round}: ${wordsOf(transfer)}, which already has the chunk: remove this transfer`;
    const inherited = earlier(this.#spoils[source], reduce ? this.#spoils[target] : undefined);
    this.#spoils[target] = inherited ?? (twice === 0n ? undefined : { twice, round, transfer });
    this.#held[target] = own | moved;
    this.#read[source] = round + 1;
    (reduce ? this.#reduced : this.#copied)[target] = round + 1;
  }
}

function earlier(one: Spoil | undefined, other: Spoil | undefined): Spoil | undefined {
  if (!one || !other) return one ?? other;
  return one.round <= other.round ? one : other;
}

function wordsOf({ from, to, chunk, reduce }: Transfer): string {
  return reduce
    ? `rank ${from} adds chunk ${chunk} to the chunk of rank ${to}`
    : `rank ${from} copies chunk ${chunk} to rank ${to}`;
}

function ranksIn(mask: bigint): string {
  const ranks = [...mask.toString(2)].reverse().flatMap((bit, rank) => (bit === '1' ? [rank] : []));
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${ranks.join(', ')}`;
}
