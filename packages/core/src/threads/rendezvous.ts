import { AbortedError, type CollError, DeadlineExceededError, RuntimeError, UnavailableError } from '../errors.js';

/**
 * How far each rank has come, in shared memory. A rank's count is one Int32 on a cache line of its own: `advance` publishes
 * everything that the rank wrote before, and who has seen a count sees those writes. Counts wrap around, so they are
 * compared by difference.
 *
 * The group fails once, for the first reason given; from then on every wait throws.
 */
export class Rendezvous {
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

  count(rank: number): number {
    return Atomics.load(this.#words, wordOf(rank));
  }

  /** Publishes the next count of a rank and wakes who waits for it. */
  advance(rank: number): number {
    const next = (Atomics.add(this.#words, wordOf(rank), 1) + 1) | 0;
    Atomics.notify(this.#words, wordOf(rank));
    return next;
  }

  /** Blocks until every rank has come to `count`. */
  waitSync(count: number, wait: Wait): void {
    for (let rank = 0; rank < this.#size; rank++) {
      let seen = this.#spin(rank, count);
      while (behind(seen, count)) {
        this.#check(count, wait);
        Atomics.wait(this.#words, wordOf(rank), seen, sliceOf(wait));
        seen = this.count(rank);
      }
    }
  }

  /** The same without blocking the thread. */
  async wait(count: number, wait: Wait): Promise<void> {
    for (let rank = 0; rank < this.#size; rank++) {
      let seen = this.#spin(rank, count);
      while (behind(seen, count)) {
        this.#check(count, wait);
        const woken = Atomics.waitAsync(this.#words, wordOf(rank), seen, sliceOf(wait));
        if (woken.async) await woken.value;
        seen = this.count(rank);
      }
    }
  }

  /** Fails the group for the first reason given, and wakes everybody. */
  fail(rank: number, reason: FailureReason, message: string): void {
    if (Atomics.compareExchange(this.#words, stateWord, 0, writing) === 0) {
      // Text does not go into shared memory directly; what does not fit is cut between two characters.
      const bytes = new Uint8Array(textBytes);
      const { written } = new TextEncoder().encodeInto(message, bytes);
      this.#text.set(bytes);
      this.#words[stateWord + 1] = rank;
      this.#words[stateWord + 2] = reasons.indexOf(reason);
      this.#words[stateWord + 3] = written;
      Atomics.store(this.#words, stateWord, failed);
    }
    for (let other = 0; other < this.#size; other++) Atomics.notify(this.#words, wordOf(other));
  }

  /** Why the group failed, as an error for the operation that was under way; undefined while it has not. */
  failure(operation: string): CollError | undefined {
    let state = Atomics.load(this.#words, stateWord);
    // The reason is being written by another thread, which takes a moment, unless it was ended just then.
    for (let look = 0; state === writing && look < longestLook; look++) state = Atomics.load(this.#words, stateWord);
    if (state === 0) return undefined;
    const [rank, reason, length] = this.#words.subarray(stateWord + 1, stateWord + 4) as unknown as [
      number,
      number,
      number,
    ];
    const message = new TextDecoder().decode(this.#text.slice(0, length));
    const details = { rank, operation };
    const text = `${operation}: ${message}`;
    switch (reasons[reason]) {
      case 'deadline':
        return new DeadlineExceededError('ERR_COLL_DEADLINE', text, details);
      case 'aborted':
        return new AbortedError('ERR_COLL_ABORTED', text, details);
      case 'closed':
        return new RuntimeError('ERR_COLL_CLOSED', text, details);
      default:
        return new UnavailableError('ERR_COLL_PEER_FAILED', text, details);
    }
  }

  // A few looks first: a peer that is nearly there costs nothing, waking a sleeping thread costs tens of microseconds.
  #spin(rank: number, count: number): number {
    let seen = this.count(rank);
    for (let look = 0; behind(seen, count) && look < this.#spins; look++) seen = this.count(rank);
    return seen;
  }

  #check(count: number, { operation, deadline, rank }: Wait): void {
    // The look that led here may be old: what everybody has come to is done, even if somebody has left since.
    const missing = this.#missing(count);
    if (missing.length === 0) return;
    if (deadline !== undefined && Date.now() >= deadline) {
      this.fail(
        rank,
        'deadline',
        `timed out on rank ${rank} waiting for other workers: rank ${missing.join(', ')} never came`,
      );
    }
    const failure = this.failure(operation);
    if (failure) throw failure;
  }

  #missing(count: number): number[] {
    return Array.from({ length: this.#size }, (_, rank) => rank).filter((rank) => behind(this.count(rank), count));
  }
}

export interface Wait {
  readonly rank: number;
  readonly operation: string;
  /** In the time of `Date.now()`. */
  readonly deadline: number | undefined;
}

/** Why a group ended: a member's error, a deadline, a signal, or a member that closed it while others were waiting. */
export type FailureReason = (typeof reasons)[number];

const reasons = ['peer', 'deadline', 'aborted', 'closed'] as const;

// Int32s of a cache line. Line 0 holds the group's state, line r + 1 the count of rank r.
const line = 16;
const stateWord = 0;
const writing = 1;
const failed = 2;
const textBytes = 2048;

const longestLook = 1_000_000;

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
