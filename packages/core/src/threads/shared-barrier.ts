import type { RunOptions } from '../collectives/communicator.js';
import { type FailureReason, failureError, failureReasons, reasonOf } from '../collectives/failures.js';
import { CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';

/**
 * How far each rank has come, in shared memory. A rank's count is one Int32 on a cache line of its own: `advance` publishes
 * everything that the rank wrote before, and who has seen a count sees those writes. Counts wrap around, so they are
 * compared by difference.
 *
 * The group fails once, for the first reason given; from then on every wait throws.
 */
export class SharedBarrier {
  readonly #words: Int32Array;
  readonly #text: Uint8Array;
  readonly #size: number;
  readonly #spins: number;

  constructor(control: SharedArrayBuffer, size: number, spins: number) {
    this.#words = new Int32Array(control, 0, line * (size + 1));
    this.#text = new Uint8Array(control, line * 4 * (size + 1), textBytes);
    this.#size = size;
    this.#spins = spins;
  }

  /** Bytes of control memory for a group. */
  static bytesFor(size: number): number {
    return line * 4 * (size + 1) + textBytes;
  }

  /** The word that is not 0 once the group has failed, for engines that look at it themselves. */
  get state(): Int32Array {
    return this.#words.subarray(stateWord, stateWord + 1);
  }

  /** How far a rank has come, and how many wait for that. Who changes the former elsewhere, and finds the latter not 0, calls `wake`. */
  arrivalOf(rank: number): Int32Array {
    return this.#words.subarray(wordOf(rank), wordOf(rank) + 2);
  }

  /** Wakes who waits for a rank. */
  wake(rank: number): void {
    Atomics.notify(this.#words, wordOf(rank));
  }

  /** How far a rank has come. Counts wrap around: compare by difference. */
  count(rank: number): number {
    return Atomics.load(this.#words, wordOf(rank));
  }

  /** Publishes the next count of a rank and wakes who sleeps until then. */
  advance(rank: number): number {
    const next = (Atomics.add(this.#words, wordOf(rank), 1) + 1) | 0;
    // Waking costs a system call even where nobody sleeps. Who goes to sleep says so first and then looks at the count once
    // more, so that one of the two sees the other.
    if (Atomics.load(this.#words, wordOf(rank) + sleepers) !== 0) Atomics.notify(this.#words, wordOf(rank));
    return next;
  }

  /** Whether every rank comes to `count` within so many looks. */
  spin(count: number, looks: number): boolean {
    for (let rank = 0; rank < this.#size; rank++) {
      if (behind(this.#look(rank, count, looks), count)) return false;
    }
    return true;
  }

  /** Blocks until every rank has come to `count`. */
  waitSync(count: number, wait: Wait): void {
    for (let rank = 0; rank < this.#size; rank++) {
      let seen = this.#look(rank, count, this.#spins);
      while (behind(seen, count)) {
        this.#check(count, wait);
        this.#sleep(rank, 1);
        Atomics.wait(this.#words, wordOf(rank), seen, sliceOf(wait));
        this.#sleep(rank, -1);
        seen = this.count(rank);
      }
    }
  }

  /** The same without blocking the thread. */
  async wait(count: number, wait: Wait): Promise<void> {
    for (let rank = 0; rank < this.#size; rank++) {
      let seen = this.#look(rank, count, Math.min(this.#spins, fewLooks));
      while (behind(seen, count)) {
        this.#check(count, wait);
        this.#sleep(rank, 1);
        const woken = Atomics.waitAsync(this.#words, wordOf(rank), seen, sliceOf(wait));
        if (woken.async) await woken.value;
        this.#sleep(rank, -1);
        seen = this.count(rank);
      }
    }
  }

  /** Begins a turn of this rank: 0 and 1 by turns, the same for all ranks of a collective. */
  turn(rank: number): number {
    const turn = (this.#words[wordOf(rank) + turns] as number) ^ 1;
    this.#words[wordOf(rank) + turns] = turn;
    return turn;
  }

  /** A number that no other offer of this rank has. */
  nextOffer(rank: number): number {
    const next = ((this.#words[wordOf(rank) + lastOffer] as number) + 1) | 0;
    this.#words[wordOf(rank) + lastOffer] = next;
    return next;
  }

  /** Notes what a rank brings to a turn; `advance` publishes it. It stands until the rank's turn after the next one. */
  offer(rank: number, turn: number, offer: number): void {
    this.#words[wordOf(rank) + offers + turn] = offer;
  }

  /** The number of what a rank brings to a turn, as `offer` noted it. */
  offered(rank: number, turn: number): number {
    return this.#words[wordOf(rank) + offers + turn] as number;
  }

  /** Fails the group for the first reason given, and wakes everybody. */
  fail(rank: number, reason: FailureReason, message: string): void {
    if (Atomics.compareExchange(this.#words, stateWord, 0, writing) === 0) {
      // Text does not go into shared memory directly; what does not fit is cut between two characters.
      const bytes = new Uint8Array(textBytes);
      const { written } = new TextEncoder().encodeInto(message, bytes);
      this.#text.set(bytes);
      this.#words[stateWord + 1] = rank;
      this.#words[stateWord + 2] = failureReasons.indexOf(reason);
      this.#words[stateWord + 3] = written;
      Atomics.store(this.#words, stateWord, failed);
    }
    for (let other = 0; other < this.#size; other++) Atomics.notify(this.#words, wordOf(other));
  }

  /** The same for an error that ends a collective on `rank`, or on the one that it names. */
  failFor(error: CollError, rank: number): void {
    this.fail(error.rank ?? rank, 'peer', `an earlier collective failed: ${error.message}`);
  }

  /** Fails the group for an error beyond it: its members get one of the same class, code and `rank`. @throws ValueError for what is none */
  failWith(error: CollError, rank: number): void {
    if (!(error instanceof CollError))
      throw new ValueError('ERR_COLL_VALUE', `a group fails with a CollError, not ${quote(error)}`, { rank });
    this.fail(error.rank ?? rank, reasonOf(error), error.message);
  }

  /** Whether the group has failed, for whatever reason. */
  get hasFailed(): boolean {
    return Atomics.load(this.#words, stateWord) !== 0;
  }

  /** Why the group failed, as an error for the operation that was under way; undefined while it has not. */
  failure(operation: string): CollError | undefined {
    if (!this.hasFailed) return undefined;
    let state = Atomics.load(this.#words, stateWord);
    // The reason is being written by another thread, which takes a moment, unless it was ended just then.
    for (let look = 0; state === writing && look < longestLook; look++) state = Atomics.load(this.#words, stateWord);
    const [rank, reason, length] = this.#words.subarray(stateWord + 1, stateWord + 4) as unknown as [
      number,
      number,
      number,
    ];
    const message = new TextDecoder().decode(this.#text.slice(0, length));
    return failureError(failureReasons[reason] as FailureReason, message, { rank, operation });
  }

  // A few looks first: a peer that is nearly there costs nothing, waking a sleeping thread costs tens of microseconds.
  #look(rank: number, count: number, looks: number): number {
    let seen = this.count(rank);
    for (let look = 0; behind(seen, count) && look < looks; look++) seen = this.count(rank);
    return seen;
  }

  #sleep(rank: number, change: number): void {
    Atomics.add(this.#words, wordOf(rank) + sleepers, change);
  }

  #check(count: number, { operation, deadline, rank }: Wait): void {
    // In this order: who has failed the group for what all have brought to this meeting has come to it, and so has everybody else.
    const failure = this.failure(operation);
    // What everybody has come to is done, even if somebody has left since.
    const missing = this.#missing(count);
    if (missing.length === 0) return;
    if (failure) throw failure;
    if (deadline === undefined || Date.now() < deadline) return;
    const told = `timed out on rank ${rank} waiting for other workers: rank ${missing.join(', ')} did not arrive`;
    this.fail(rank, 'deadline', told);
    throw this.failure(operation);
  }

  #missing(count: number): number[] {
    return Array.from({ length: this.#size }, (_, rank) => rank).filter((rank) => behind(this.count(rank), count));
  }
}

/** Who waits, in which operation, and until when. */
export interface Wait {
  readonly rank: number;
  readonly operation: string;
  /** In the time of `Date.now()`. */
  readonly deadline: number | undefined;
}

/** How a rank waits in an operation that is run with these options. */
export function waitOf(rank: number, operation: string, options: RunOptions): Wait {
  return { rank, operation, deadline: deadlineOf(options) };
}

/** In the time of `Date.now()`; undefined for a call that may take for ever. */
export function deadlineOf({ timeoutSeconds }: RunOptions): number | undefined {
  return timeoutSeconds && timeoutSeconds > 0 ? Date.now() + timeoutSeconds * 1000 : undefined;
}

// Int32s of a cache line. Line 0 holds the group's state, line r + 1 what rank r says: its count, who sleeps until that changes,
// and, of which only the rank itself writes, its offers of two turns, the turn, and the number of its latest offer.
const line = 16;
const sleepers = 1;
const offers = 2;
const turns = 4;
const lastOffer = 5;
const stateWord = 0;
const writing = 1;
const failed = 2;
const textBytes = 2048;

const longestLook = 1_000_000;

// Who can do other things meanwhile gives up sooner: some microseconds.
export const fewLooks = 2000;

// Nobody sleeps longer than this without looking whether the group has failed.
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
