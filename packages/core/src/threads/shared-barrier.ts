import {
  type Failure,
  failureError,
  failureOf,
  failureReasons,
  isDisagreement,
  mostOtherRanks,
  nameIn,
} from '../collectives/failures.js';
import type { RunOptions } from '../runtime/communicator.js';
import { deadlineOf } from '../runtime/run-options.js';
import { CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { SpinLimit } from './spin-limit.js';
import { woken } from './woken.js';

/**
 * Synchronizes ranks by counts in shared memory. Each rank's count is one Int32 on a cache line of
 * its own. `advance` publishes everything the rank wrote before; a rank that has read the count
 * sees those writes. Counts wrap around, so they are compared by difference.
 *
 * The group fails once, for the first reason given; from then on every wait throws. A rank that has
 * left makes waits throw, too; messages between other ranks go on until one of them did.
 */
export class SharedBarrier {
  readonly #words: Int32Array;
  readonly #ranks: Int32Array;
  readonly #text: Uint8Array;
  readonly #size: number;
  readonly #spins: number;
  readonly #limit: SpinLimit;
  // Where ranks sleep until all have arrived: the number of openings, and that of sleepers.
  readonly #gate: number;

  /**
   * The names of the ranks in messages about different calls; undefined for plain numbers.
   */
  readonly names: readonly string[] | undefined;
  readonly #whole: readonly number[] | undefined;

  /** @param whole if the group was made by `split`: the rank of each of its members in the whole group */
  constructor(control: SharedArrayBuffer, size: number, spins: number, whole?: readonly number[]) {
    this.names = whole?.map((_, rank) => nameIn(whole, rank));
    this.#whole = whole;
    this.#words = new Int32Array(control, 0, wordOf(size + 1));
    this.#ranks = new Int32Array(control, this.#words.byteLength, mostOtherRanks);
    this.#text = new Uint8Array(control, this.#words.byteLength + this.#ranks.byteLength, textBytes);
    this.#size = size;
    this.#spins = spins;
    this.#limit = new SpinLimit(size);
    this.#gate = wordOf(size);
  }

  /** Bytes of control memory that a barrier of `size` ranks needs. */
  static bytesFor(size: number): number {
    return 4 * (wordOf(size + 1) + mostOtherRanks) + textBytes;
  }

  /** A word that is not 0 once the group has failed, for engines that poll it themselves. */
  get state(): Int32Array {
    return this.#words.subarray(stateWord, stateWord + 1);
  }

  /**
   * A rank's count, followed by the number of event loops that wait for the rank. Code that changes
   * the count without `advance` must call `wake` if that number is not 0.
   */
  arrivalOf(rank: number): Int32Array {
    return this.#words.subarray(wordOf(rank), wordOf(rank) + 2);
  }

  /** Wakes the threads that sleep if all ranks have reached this rank's count. */
  wake(rank: number): void {
    if (this.#countMissing(this.count(rank)) === 0) this.#open();
  }

  /** A rank's count. Counts wrap around: compare by difference. */
  count(rank: number): number {
    return Atomics.load(this.#words, wordOf(rank));
  }

  /** Publishes a rank's next count and wakes the threads that wait for it. */
  advance(rank: number): number {
    const next = (Atomics.add(this.#words, wordOf(rank), 1) + 1) | 0;
    // Waking costs a system call even if no thread sleeps. A thread that is about to sleep
    // registers first and then checks the count again, so that one of the two notices the other.
    const mayWake =
      Atomics.load(this.#words, wordOf(rank) + sleepers) !== 0 ||
      Atomics.load(this.#words, this.#gate + sleepers) !== 0;
    if (mayWake && this.#countMissing(next) === 0) this.#open();
    return next;
  }

  /** Polls the count of each rank at most `looks` times. Returns whether every rank has reached `count`. */
  spin(count: number, looks: number): boolean {
    for (let rank = 0; rank < this.#size; rank++) {
      if (behind(this.#look(rank, count, looks), count)) return false;
    }
    return true;
  }

  /** Blocks until every rank has reached `count`. */
  waitSync(count: number, wait: Wait): void {
    const missing = this.#countMissing(count);
    if (missing === 0 || this.#spin(count, missing)) return;
    // The last rank to arrive opens the gate, so that a rank is woken once, not once for each rank.
    for (;;) {
      const seen = Atomics.load(this.#words, this.#gate);
      Atomics.add(this.#words, this.#gate + sleepers, 1);
      try {
        if (this.#countMissing(count) === 0) return;
        this.#check(count, wait);
        Atomics.wait(this.#words, this.#gate, seen, sliceOf(wait));
      } finally {
        Atomics.add(this.#words, this.#gate + sleepers, -1);
      }
    }
  }

  /** Like `waitSync`, but does not block the thread. */
  async wait(count: number, wait: Wait): Promise<void> {
    while (!this.spin(count, Math.min(this.#spins, fewLooks))) {
      const seen = Atomics.load(this.#words, this.#gate);
      const missing = this.#missing(count);
      this.#sleep(missing, 1);
      try {
        if (this.#countMissing(count) === 0) return;
        this.#check(count, wait);
        await woken(this.#words, this.#gate, seen, sliceOf(wait));
      } finally {
        this.#sleep(missing, -1);
      }
    }
  }

  /** Begins the rank's next call, and returns the call's turn: 0 and 1 alternately, equal on all ranks. */
  turn(rank: number): number {
    const turn = (this.#words[wordOf(rank) + turns] as number) ^ 1;
    this.#words[wordOf(rank) + turns] = turn;
    return turn;
  }

  /** The turn of the rank's latest call. */
  latestTurn(rank: number): number {
    return this.#words[wordOf(rank) + turns] as number;
  }

  /** A new number that identifies an offer (a validated call) among those of this rank. */
  nextOffer(rank: number): number {
    const next = ((this.#words[wordOf(rank) + lastOffer] as number) + 1) | 0;
    this.#words[wordOf(rank) + lastOffer] = next;
    return next;
  }

  /**
   * Stores the number of the offer that a rank makes in a turn (0 or 1); `advance` publishes the
   * number. The number is kept until the rank's next call with the same turn.
   */
  offer(rank: number, turn: number, offer: number): void {
    this.#words[wordOf(rank) + offers + turn] = offer;
  }

  /** The number of the offer that a rank made in a turn (0 or 1), as stored by `offer`. */
  offered(rank: number, turn: number): number {
    return this.#words[wordOf(rank) + offers + turn] as number;
  }

  /** Fails the group for the first reason given, and wakes all threads. */
  fail(failure: Failure): void {
    if (this.#moves(0, writing) || this.#moves(left, writing)) this.#write(failure, failed);
    this.#open();
  }

  /** A rank leaves the group, which ends all collectives. */
  leave(rank: number): void {
    Atomics.store(this.#words, wordOf(rank) + leftWord, 1);
    if (this.#moves(0, writing)) this.#write({ reason: 'closed', rank, ranks: [], text: 'has left the group' }, left);
    this.#open();
  }

  /** Whether a rank has left the group. */
  hasLeft(rank: number): boolean {
    return Atomics.load(this.#words, wordOf(rank) + leftWord) !== 0;
  }

  /** Fails the group because the thread of a rank has ended. */
  lose(rank: number): void {
    Atomics.store(this.#words, wordOf(rank) + lostWord, 1);
    this.fail({ reason: 'lost', rank, ranks: [], text: 'was lost: its thread ended before it closed the group' });
  }

  /** The rank of the thread that created the group; undefined if that thread is not a member. */
  get creator(): number | undefined {
    const number = Atomics.load(this.#words, creatorWord);
    return number === 0 ? undefined : number - 1;
  }

  set creator(rank: number | undefined) {
    Atomics.store(this.#words, creatorWord, rank === undefined ? 0 : rank + 1);
  }

  /**
   * Fails the group because a rank has timed out waiting for others. In the message, `text` follows
   * the rank numbers `others`.
   */
  expire(rank: number, others: readonly number[], text: string): void {
    this.fail({ reason: 'deadline', rank, ranks: others.slice(0, mostOtherRanks), text });
  }

  /**
   * Fails the group because of an error that ended a collective. `rank` is used if the error names
   * no rank.
   */
  failFor(error: CollError, rank: number): void {
    const failure = failureOf(error, rank);
    if (isDisagreement(failure.reason)) this.fail(failure);
    else this.fail({ ...failure, text: `ended an earlier collective: ${error.message}` });
  }

  /**
   * Fails the group because of an external error. Members throw an error of the same class, code
   * and `rank`.
   * @throws ValueError unless `error` is a CollError
   */
  failWith(error: CollError, rank: number): void {
    if (!(error instanceof CollError))
      throw new ValueError('ERR_COLL_VALUE', `the failure of a group must be a CollError, got ${quote(error)}`, {
        rank,
      });
    this.fail(failureOf(error, rank));
  }

  /** Whether calls of all ranks fail, because the group has failed or a rank has left. */
  get hasFailed(): boolean {
    return Atomics.load(this.#words, stateWord) !== 0;
  }

  /** The error that a collective throws because of the group's failure, which from now on ends messages, too. */
  failureMet(operation: string): CollError | undefined {
    // An exchange at each call would make the ranks take this cache line from each other.
    if (this.hasFailed) this.#moves(left, failed);
    return this.failure(operation);
  }

  /** The group's failure as an error for messages; undefined while there is none, or if ranks have only left. */
  failureOfMessages(operation: string): CollError | undefined {
    return this.#settledState() === left ? undefined : this.failure(operation);
  }

  /** The state once no thread writes a reason, which takes a moment; `writing` if that thread was just terminated. */
  #settledState(): number {
    let state = Atomics.load(this.#words, stateWord);
    for (let look = 0; state === writing && look < longestLook; look++) state = Atomics.load(this.#words, stateWord);
    return state;
  }

  /** The group's failure as an error for the current operation; undefined while there is none. */
  failure(operation: string, cause?: unknown): CollError | undefined {
    const state = this.#settledState();
    if (state === 0) return undefined;
    const [rank, number, length, count, hostCount] = this.#words.subarray(stateWord + 1) as unknown as FailureWords;
    const reason = (state === writing ? undefined : failureReasons[number]) ?? 'failed';
    const hosts = new TextDecoder().decode(this.#text.slice(0, length)).split(hostEnd);
    const text = hosts.splice(hostCount).join(hostEnd);
    const named = [...this.#ranks.subarray(0, count)];
    const lost = this.#lost.filter((other) => other !== rank && !named.includes(other));
    const others =
      reason === 'lost' ? { ranks: [...named, ...lost] } : { ranks: named, ...(lost.length > 0 ? { lost } : {}) };
    return failureError(
      { reason, rank, ...others, text, hosts },
      { operation, size: this.#size, whole: this.#whole, cause },
    );
  }

  /** The ranks whose threads have ended before they left the group. */
  get #lost(): number[] {
    return Array.from({ length: this.#size }, (_, rank) => rank).filter(
      (rank) => Atomics.load(this.#words, wordOf(rank) + lostWord) !== 0,
    );
  }

  /** Whether the state was `from`; it then becomes `to`. */
  #moves(from: number, to: number): boolean {
    return Atomics.compareExchange(this.#words, stateWord, from, to) === from;
  }

  /** Writes the reason of a failure. Text that is too long is cut between two characters. */
  #write({ reason, rank, ranks, text, hosts = [] }: Failure, state: number): void {
    // Text cannot be encoded into shared memory directly.
    const bytes = new Uint8Array(textBytes);
    const { written } = new TextEncoder().encodeInto([...hosts, text].join(hostEnd), bytes);
    this.#text.set(bytes);
    this.#ranks.set(ranks);
    this.#words.set([rank, failureReasons.indexOf(reason), written, ranks.length, hosts.length], stateWord + 1);
    Atomics.store(this.#words, stateWord, state);
  }

  // Polls briefly first: for a peer that is nearly there this costs nothing, while waking a
  // sleeping thread takes tens of microseconds.
  #look(rank: number, count: number, looks: number): number {
    let seen = this.count(rank);
    for (let look = 0; behind(seen, count) && look < looks; look++) seen = this.count(rank);
    return seen;
  }

  // Whether the last ranks arrive while this one polls.
  #spin(count: number, missing: number): boolean {
    if (this.#spins === 0 || !this.#limit.allows(missing)) return false;
    let looks = this.#spins;
    for (let rank = 0; rank < this.#size; rank++) {
      while (behind(this.count(rank), count)) {
        if (looks-- > 0) continue;
        this.#limit.learn(missing, false);
        return false;
      }
    }
    this.#limit.learn(missing, true);
    return true;
  }

  #countMissing(count: number): number {
    let missing = 0;
    for (let rank = 0; rank < this.#size; rank++) if (behind(this.count(rank), count)) missing++;
    return missing;
  }

  #open(): void {
    Atomics.add(this.#words, this.#gate, 1);
    Atomics.notify(this.#words, this.#gate);
  }

  #sleep(missing: readonly number[], change: number): void {
    for (const rank of missing) Atomics.add(this.#words, wordOf(rank) + sleepers, change);
  }

  #check(count: number, { operation, deadline, rank }: Wait): void {
    // Check the failure first: a rank that fails the group because of the offers of this
    // synchronization has reached it, and so has every other rank.
    const hasFailed = this.hasFailed;
    // A count that all ranks have reached is done, even if a rank has left since.
    const missing = this.#missing(count);
    if (missing.length === 0) return;
    if (hasFailed) throw this.failureMet(operation);
    if (deadline === undefined || Date.now() < deadline) return;
    this.expire(rank, missing, 'did not arrive');
    throw this.failure(operation);
  }

  #missing(count: number): number[] {
    return Array.from({ length: this.#size }, (_, rank) => rank).filter((rank) => behind(this.count(rank), count));
  }
}

/** The waiting rank, its operation and its deadline. */
export interface Wait {
  readonly rank: number;
  readonly operation: string;
  /** Latest end of the wait, as a time of `Date.now()`; undefined means no limit. */
  readonly deadline: number | undefined;
}

/** The wait of a rank in an operation with these options. */
export function waitOf(rank: number, operation: string, options: RunOptions): Wait {
  return { rank, operation, deadline: deadlineOf(options) };
}

// Int32s of a cache line. Line 0 holds the group's state, and the creator's rank. Line r + 1 holds the
// words of rank r: its count, the number of event loops that wait for it and, written only by rank r,
// its offers of two turns, the turn, the number of its latest offer, and whether it has left or was
// lost. The last line holds the gate, with its sleepers in the same place.
const line = 16;
const sleepers = 1;
const offers = 2;
const turns = 4;
const lastOffer = 5;
const leftWord = 6;
const lostWord = 7;
const stateWord = 0;
const creatorWord = 8;
const writing = 1;
const failed = 2;
const left = 3;
const textBytes = 4096;

// Follows each host before the text of a failure.
const hostEnd = '\0';

type FailureWords = readonly [rank: number, reason: number, textBytes: number, ranks: number, hosts: number];

const longestLook = 1_000_000;

// Polls of a thread that has other work to do: it stops after some microseconds.
export const fewLooks = 2000;

// Milliseconds. No thread sleeps longer without checking whether the group has failed.
const longestSleep = 100;

function wordOf(rank: number): number {
  return line * (rank + 1);
}

function behind(seen: number, count: number): boolean {
  return ((seen - count) | 0) < 0;
}

function sliceOf({ deadline }: Wait): number {
  return deadline === undefined ? longestSleep : Math.max(0, Math.min(longestSleep, deadline - Date.now()));
}
