import { abortedError } from '../collectives/call-errors.js';
import { AbortedError, DeadlineExceededError, InternalError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import { afterSeconds } from '../support/timer.js';

/** A call that all local replicas make. */
export interface Joining {
  /** The operation, for errors. Must be the same on all replicas; otherwise the call fails. */
  readonly name: string;
  /**
   * A description of the structure of the values. Must be the same on all replicas; otherwise the
   * call fails. Default: none.
   */
  readonly form?: string;
  /**
   * The timeout, in seconds from the call on, and the signal that aborts the wait for all replicas.
   * A signal that is already aborted ends only this call.
   */
  readonly options?: JoiningOptions;
  /**
   * Whether the call runs alone: after all earlier calls and before all later ones. Default: calls
   * may overlap, but start in order.
   */
  readonly isExclusive?: boolean;
}

interface JoiningOptions {
  readonly options: { readonly timeoutSeconds: number | null };
  readonly signal: AbortSignal | undefined;
}

/** Creates the error for a call that cannot go on; `operation` names the call. */
export type ErrorFor = (operation: string) => unknown;

/** Callbacks for the owner of a rendezvous, which synchronizes the replicas of one thread. */
export interface RendezvousOptions {
  /** Called when a replica has arrived, and when a call of all replicas has ended. */
  readonly onChange?: (() => void) | undefined;
  /** Called with an error that ends a call of all replicas, before they receive it. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Schedules the delivery of results: `deliver[i]` resumes replica `i`. Default: all at once. */
  readonly settle?: ((deliver: readonly (() => void)[]) => void) | undefined;
  /** The word for participants in error messages. Default: `replica`. */
  readonly what?: 'replica' | 'rank' | undefined;
}

interface Waiter {
  readonly joining: Joining;
  /** Stops watching the deadline and the abort signal of the waiting call. */
  unwatch(): void;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

type Perform = (calls: readonly never[]) => Promise<readonly unknown[]>;

/**
 * Synchronizes the replicas of one thread. The n-th calls of all replicas form one call: they are
 * compared, and the last replica to arrive performs the call for all.
 */
export class Rendezvous {
  readonly #ids: readonly number[];
  readonly #options: RendezvousOptions;
  readonly #waiting: readonly Waiter[][];
  readonly #performing = new Map<readonly Waiter[], Promise<void>>();
  /** Number of unfinished calls of each replica. */
  readonly #pending: number[];
  /** The latest exclusive call that is under way. */
  #exclusive: Promise<void> | undefined;
  #failure: ErrorFor | undefined;

  /** `ids` are the replica ids that errors state. */
  constructor(ids: readonly number[], options: RendezvousOptions = {}) {
    this.#ids = ids;
    this.#options = options;
    this.#waiting = ids.map(() => []);
    this.#pending = ids.map(() => 0);
  }

  get #what(): string {
    return this.#options.what ?? 'replica';
  }

  get size(): number {
    return this.#ids.length;
  }

  /** Whether a call of all replicas is under way. */
  get isPerforming(): boolean {
    return this.#performing.size > 0;
  }

  /** Whether the local replica with index `place` waits for other replicas, or for a call of all of them to end. */
  isWaiting(place: number): boolean {
    return (this.#pending[place] as number) > 0;
  }

  /** The oldest call for which the local replica with index `place` waits for others; undefined if there is none. */
  waitingIn(place: number): Joining | undefined {
    return this.#waiting[place]?.[0]?.joining;
  }

  /**
   * Waits for the other replicas. The `perform` of the last replica to arrive is called with the
   * calls of all replicas and returns an output for each.
   * @throws InternalError (ERR_COLL_MISMATCH) if the replicas differ in name or form;
   * DeadlineExceededError; AbortedError
   */
  join<Call extends Joining, Output>(
    place: number,
    joining: Call,
    perform: (calls: readonly Call[]) => Promise<readonly Output[]>,
  ): Promise<Output> {
    try {
      this.requireOpen(joining);
    } catch (error) {
      return Promise.reject(error);
    }
    const { promise, resolve, reject } = deferred<Output>();
    const waiter = this.#waiterOf(place, joining, resolve as Waiter['resolve'], reject);
    this.#waiting[place]?.push(waiter);
    if (this.#waiting.every((calls) => calls.length > 0)) void this.#begin(perform);
    this.#options.onChange?.();
    return promise;
  }

  #waiterOf(place: number, joining: Joining, resolve: Waiter['resolve'], reject: Waiter['reject']): Waiter {
    this.#pending[place] = (this.#pending[place] as number) + 1;
    let isOver = false;
    const once = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      this.#pending[place] = (this.#pending[place] as number) - 1;
      settle();
    };
    return {
      joining,
      unwatch: this.#watch(place, joining),
      resolve: (output) => once(() => resolve(output)),
      reject: (error) => once(() => reject(error)),
    };
  }

  /**
   * @throws the error passed to `close` or `fail`, if one was called; AbortedError if the call's
   * signal is aborted
   */
  requireOpen({ name, options }: Joining): void {
    if (this.#failure) throw this.#failure(name);
    const signal = options?.signal;
    if (signal?.aborted) throw abortedError('before it began', signal, { operation: name });
  }

  /**
   * Ends all calls that wait for other replicas, and all later calls. Only the first reason counts.
   */
  close(errorFor: ErrorFor): void {
    this.#failure ??= errorFor;
    this.#reject(this.#waiting.flatMap((calls) => calls.splice(0)));
    this.#options.onChange?.();
  }

  /** Like `close`, but also ends calls that are under way. */
  fail(errorFor: ErrorFor): void {
    this.#failure ??= errorFor;
    this.#reject([...this.#performing.keys()].flat());
    this.close(errorFor);
  }

  #reject(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) {
      waiter.unwatch();
      waiter.reject(this.#failure?.(waiter.joining.name));
    }
  }

  async #begin(perform: Perform): Promise<void> {
    const waiters = this.#waiting.map((calls) => calls.shift() as Waiter);
    for (const { unwatch } of waiters) unwatch();
    const isExclusive = waiters.some(({ joining }) => joining.isExclusive);
    const before = isExclusive ? Promise.all(this.#performing.values()) : this.#exclusive;
    const ended = deferred<void>();
    this.#performing.set(waiters, ended.promise);
    if (isExclusive) this.#exclusive = ended.promise;
    try {
      this.#requireAlike(waiters);
      if (before) await before;
      const outputs = await perform(waiters.map(({ joining }) => joining as never));
      const deliver = waiters.map((waiter, place) => () => waiter.resolve(outputs[place]));
      if (this.#options.settle) this.#options.settle(deliver);
      else for (const letGo of deliver) letGo();
    } catch (error) {
      this.#options.onError?.(error);
      for (const { reject } of waiters) reject(error);
    }
    this.#performing.delete(waiters);
    if (this.#exclusive === ended.promise) this.#exclusive = undefined;
    ended.resolve();
    this.#options.onChange?.();
  }

  #requireAlike(waiters: readonly Waiter[]): void {
    const calls = waiters.map(({ joining: { name, form = '' } }) => (form === '' ? name : `${name} of ${form}`));
    const odd = calls.findIndex((call) => call !== calls[0]);
    if (odd < 0) return;
    const [first, rank] = [this.#ids[0], this.#ids[odd] as number];
    const what = this.#what;
    const told = `${what} ${first} calls ${calls[0]}, ${what} ${rank} calls ${calls[odd]}`;
    throw new InternalError(
      'ERR_COLL_MISMATCH',
      `${what}s make different calls: ${told}; all ${what}s must make the same calls in the same order`,
      { rank, operation: waiters[0]?.joining.name ?? '' },
    );
  }

  #watch(place: number, joining: Joining): () => void {
    const signal = joining.options?.signal;
    const endTimer = afterSeconds(joining.options?.options.timeoutSeconds, () => this.#expire(place, joining));
    if (!signal) return endTimer;
    const abort = () =>
      this.close((operation) =>
        abortedBy(operation, `${this.#what} ${this.#ids[place]}`, this.#ids[place] as number, signal.reason),
      );
    signal.addEventListener('abort', abort);
    return () => {
      endTimer();
      signal.removeEventListener('abort', abort);
    };
  }

  #expire(place: number, joining: Joining): void {
    const calls = this.#waiting[place] as Waiter[];
    const turn = calls.findIndex((waiter) => waiter.joining === joining);
    const rank = this.#ids[place] as number;
    const missing = this.#ids.filter((_, other) => (this.#waiting[other] as Waiter[]).length <= turn);
    const told = `timed out on ${this.#what} ${rank} waiting for the others: ${this.#what} ${missing.join(', ')} did not arrive`;
    this.close(
      (operation) => new DeadlineExceededError('ERR_COLL_DEADLINE', `${operation}: ${told}`, { rank, operation }),
    );
  }
}

function deferred<Output>() {
  let resolve!: (output: Output) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Output>((onDone, onError) => {
    resolve = onDone;
    reject = onError;
  });
  return { promise, resolve, reject };
}

function abortedBy(operation: string, who: string, rank: number, cause: unknown): AbortedError {
  return new AbortedError('ERR_COLL_ABORTED', `${operation}: ${who} aborted: ${messageOf(cause)}`, {
    rank,
    operation,
    cause,
  });
}
