import { abortedError } from '../collectives/call-errors.js';
import { type Failure, failureError } from '../collectives/failures.js';
import { noRefusals, type Refusals, refusalFailure, refusedAgain } from '../collectives/refusals.js';
import {
  AbortedError,
  CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
} from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import { afterSeconds } from '../support/timer.js';
import { formWords } from '../values/structure.js';

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
   * If the signal is already aborted, the call is refused.
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
  /** Schedules the delivery of results: `deliver(i)` resumes replica `i`. Default: all at once. */
  readonly settle?: ((deliver: (index: number) => void) => void) | undefined;
  /** Makes the errors of participants that are not replicas. Default: errors that name replicas. */
  readonly errors?: RendezvousErrors | undefined;
}

/** Makes the errors of a rendezvous. */
export interface RendezvousErrors {
  /** The word for participants in messages. */
  readonly what: 'replica' | 'rank';
  /** The error if the participants make different calls; undefined if they agree. */
  disagreement(calls: readonly Joining[]): CollError | undefined;
  /** The errors of all calls that wait, and of later ones, after a deadline has passed or a signal was aborted. */
  failure(failure: Failure, cause: unknown): ErrorFor;
}

/** A call of one replica that has not ended. */
class Waiter {
  readonly index: number;
  readonly joining: Joining;
  /** The calls that the replica had refused when it made this one. */
  readonly refusals: Refusals;
  readonly promise: Promise<unknown>;
  resolve!: (output: unknown) => void;
  reject!: (error: unknown) => void;
  isOver = false;
  /** Stops watching the deadline and the abort signal of the waiting call. */
  unwatch: (() => void) | undefined;

  constructor(index: number, joining: Joining, refusals: Refusals) {
    this.index = index;
    this.joining = joining;
    this.refusals = refusals;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

type Execute = (calls: readonly never[]) => Promise<readonly unknown[]>;

/**
 * Synchronizes the replicas of one thread. The n-th calls of all replicas form one call: they are
 * compared, and the last replica to arrive executes the call for all.
 */
export class Rendezvous {
  /**
   * Called before a call is executed, if all replicas have refused `times` calls since the call
   * before. `error` ended the last of them. Also called at the end, if any replica has.
   */
  onRefused: ((error: unknown, times: number) => void) | undefined;
  readonly #ids: readonly number[];
  readonly #options: RendezvousOptions;
  readonly #errors: RendezvousErrors;
  readonly #waiting: readonly Waiter[][];
  readonly #executing = new Map<readonly Waiter[], Promise<void>>();
  /** Number of unfinished calls of each replica. */
  readonly #pending: number[];
  /** The calls that each replica has refused. */
  readonly #refusals: Refusals[];
  /** Number of refused calls that the latest call of all replicas has reported by `onRefused`. */
  #reportedRefusals = 0;
  #begun = 0;
  /** The latest exclusive call that is under way. */
  #exclusive: Promise<void> | undefined;
  #failure: ErrorFor | undefined;

  /** `ids` are the replica ids that errors state. */
  constructor(ids: readonly number[], options: RendezvousOptions = {}) {
    this.#ids = ids;
    this.#options = options;
    this.#errors = options.errors ?? errorsOfReplicas(ids);
    this.#waiting = ids.map(() => []);
    this.#pending = ids.map(() => 0);
    this.#refusals = ids.map(() => noRefusals);
  }

  get size(): number {
    return this.#ids.length;
  }

  /** Number of calls in which all replicas have arrived. */
  get begun(): number {
    return this.#begun;
  }

  /** Whether a call of all replicas is under way. */
  get isExecuting(): boolean {
    return this.#executing.size > 0;
  }

  /** Whether the local replica with index `index` waits for other replicas, or for a call of all of them to end. */
  isWaiting(index: number): boolean {
    return (this.#pending[index] as number) > 0;
  }

  /** The oldest call for which the local replica with index `index` waits for others; undefined if there is none. */
  waitingAt(index: number): Joining | undefined {
    return this.#waiting[index]?.[0]?.joining;
  }

  /**
   * Waits for the other replicas. The `execute` of the last replica to arrive is called with the
   * calls of all replicas and returns an output for each.
   * @throws InternalError (ERR_COLL_MISMATCH) if the replicas' names differ, InvalidArgumentError
   * (ERR_COLL_SHAPE_MISMATCH) if only their forms differ;
   * DeadlineExceededError; AbortedError
   */
  join<Call extends Joining, Output>(
    index: number,
    joining: Call,
    execute: (calls: readonly Call[]) => Promise<readonly Output[]>,
  ): Promise<Output> {
    try {
      this.requireOpen(joining);
    } catch (error) {
      this.refuse(index, error);
      return Promise.reject(error);
    }
    const waiter = new Waiter(index, joining, this.#refusals[index] as Refusals);
    this.#watch(waiter);
    this.#pending[index] = (this.#pending[index] as number) + 1;
    this.#waiting[index]?.push(waiter);
    let areAllHere = true;
    for (const calls of this.#waiting) areAllHere &&= calls.length > 0;
    if (areAllHere) this.#begin(execute);
    this.#options.onChange?.();
    return waiter.promise as Promise<Output>;
  }

  /**
   * Counts a call that a replica has refused with `error` before the call began. Replicas compare
   * their counts in the next call.
   */
  refuse(index: number, error: unknown): void {
    if (!this.#failure) this.#refusals[index] = refusedAgain(this.#refusals[index] as Refusals, error);
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
    this.#refuseAll(errorFor);
    this.#reject(this.#waiting.flatMap((calls) => calls.splice(0)));
    this.#options.onChange?.();
  }

  /** Like `close`, but also ends calls that are under way. */
  fail(errorFor: ErrorFor): void {
    this.#refuseAll(errorFor);
    this.#reject([...this.#executing.keys()].flat());
    this.close(errorFor);
  }

  /** Lets all later calls fail, unless they already do. */
  #refuseAll(errorFor: ErrorFor): void {
    if (this.#failure) return;
    this.#tellRefused(this.#refusals.reduce((most, own) => (own.count > most.count ? own : most)));
    this.#failure = errorFor;
  }

  #reject(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) {
      waiter.unwatch?.();
      if (this.#ends(waiter)) waiter.reject(this.#failure?.(waiter.joining.name));
    }
  }

  /** Whether a waiter had not ended before. From now on, it has. */
  #ends(waiter: Waiter): boolean {
    if (waiter.isOver) return false;
    waiter.isOver = true;
    this.#pending[waiter.index] = (this.#pending[waiter.index] as number) - 1;
    return true;
  }

  #begin(execute: Execute): void {
    const waiters = this.#waiting.map((calls) => calls.shift() as Waiter);
    this.#begun += 1;
    let isExclusive = false;
    for (const { unwatch, joining } of waiters) {
      unwatch?.();
      isExclusive ||= joining.isExclusive === true;
    }
    const before = isExclusive ? Promise.all(this.#executing.values()) : this.#exclusive;
    const calls = waiters.map(({ joining }) => joining as never);
    let outputs: Promise<readonly unknown[]>;
    try {
      const refusals = this.#requireSameRefusals(waiters);
      const disagreement = this.#errors.disagreement(calls);
      if (disagreement) throw disagreement;
      // Refusals are reported in the order of the calls.
      const reported = before?.then(() => this.#tellRefused(refusals));
      if (!reported) this.#tellRefused(refusals);
      outputs = reported ? reported.then(() => execute(calls)) : execute(calls);
    } catch (error) {
      outputs = Promise.reject(error);
    }
    const ended = outputs.then(
      (all) => this.#deliver(waiters, all),
      (error: unknown) => this.#fail(waiters, error),
    );
    this.#executing.set(waiters, ended);
    if (isExclusive) this.#exclusive = ended;
  }

  #deliver(waiters: readonly Waiter[], outputs: readonly unknown[]): void {
    const deliver = (index: number) => {
      const waiter = waiters[index] as Waiter;
      if (this.#ends(waiter)) waiter.resolve(outputs[index]);
    };
    if (this.#options.settle) this.#options.settle(deliver);
    else for (const { index } of waiters) deliver(index);
    this.#end(waiters);
  }

  #fail(waiters: readonly Waiter[], error: unknown): void {
    this.#options.onError?.(error);
    for (const waiter of waiters) if (this.#ends(waiter)) waiter.reject(error);
    this.#end(waiters);
  }

  /** Forgets a call of all replicas that has ended. */
  #end(waiters: readonly Waiter[]): void {
    if (this.#exclusive === this.#executing.get(waiters)) this.#exclusive = undefined;
    this.#executing.delete(waiters);
    this.#options.onChange?.();
  }

  /** Returns the refusals that all replicas have in common. @throws CollError, which ends all calls, if their counts differ */
  #requireSameRefusals(waiters: readonly Waiter[]): Refusals {
    const [{ refusals: first }] = waiters as readonly [Waiter];
    if (waiters.every(({ refusals }) => refusals.count === first.count)) return first;
    const { index, refusals, joining } = waiters.reduce((most, waiter) =>
      waiter.refusals.count > most.refusals.count ? waiter : most,
    );
    const { latest } = refusals;
    const code = latest instanceof CollError ? latest.code : undefined;
    const failure = refusalFailure(this.#ids[index] as number, code, {
      message: messageOf(latest),
      what: this.#errors.what,
    });
    const errorFor = (operation: string) =>
      failureError(failure, { operation, what: this.#errors.what, cause: latest });
    this.#failure ??= errorFor;
    throw errorFor(joining.name);
  }

  #tellRefused({ count, latest }: Refusals): void {
    if (count > this.#reportedRefusals) this.onRefused?.(latest, count - this.#reportedRefusals);
    this.#reportedRefusals = count;
  }

  #watch(waiter: Waiter): void {
    const { options } = waiter.joining;
    const signal = options?.signal;
    const seconds = options?.options.timeoutSeconds;
    if (!signal && !seconds) return;
    const rank = this.#ids[waiter.index] as number;
    const endTimer = afterSeconds(seconds, () => this.#expire(waiter));
    const abort = () => {
      const text = `aborted: ${messageOf(signal?.reason)}`;
      this.close(this.#errors.failure({ reason: 'aborted', rank, ranks: [], text }, signal?.reason));
    };
    signal?.addEventListener('abort', abort);
    waiter.unwatch = () => {
      endTimer();
      signal?.removeEventListener('abort', abort);
    };
  }

  #expire(waiter: Waiter): void {
    const { index } = waiter;
    const turn = (this.#waiting[index] as Waiter[]).indexOf(waiter);
    const rank = this.#ids[index] as number;
    const missing = this.#ids.filter((_, other) => (this.#waiting[other] as Waiter[]).length <= turn);
    const failure = { reason: 'deadline', rank, ranks: missing, text: 'did not arrive' } as const;
    this.close(this.#errors.failure(failure, undefined));
  }
}

/** The errors of replicas with these ids. */
function errorsOfReplicas(ids: readonly number[]): RendezvousErrors {
  return {
    what: 'replica',
    disagreement: (calls) => {
      const [first] = calls as readonly [Joining];
      const odd = calls.findIndex(({ name, form }) => name !== first.name || (form ?? '') !== (first.form ?? ''));
      if (odd < 0) return undefined;
      const rank = ids[odd] as number;
      const other = calls[odd] as Joining;
      if (other.name === first.name) {
        const forms = `replica ${ids[0]} passes ${formWords(first.form ?? '')}, replica ${rank} passes ${formWords(other.form ?? '')}`;
        const details = { rank, operation: first.name };
        const message = `${first.name}: ${forms}; all replicas must pass the same structure`;
        return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', message, details);
      }
      const message = `replica ${ids[0]} calls ${wordsOf(first)}, replica ${rank} calls ${wordsOf(other)}`;
      return new InternalError(
        'ERR_COLL_MISMATCH',
        `replicas make different calls: ${message}; all replicas must make the same calls in the same order`,
        { rank, operation: first.name },
      );
    },
    failure: ({ reason, rank, ranks, text }, cause) => {
      const late = `timed out on replica ${rank} waiting for the others: replica ${ranks.join(', ')} ${text}`;
      if (reason === 'deadline')
        return (operation) =>
          new DeadlineExceededError('ERR_COLL_DEADLINE', `${operation}: ${late}`, { rank, operation });
      return (operation) =>
        new AbortedError('ERR_COLL_ABORTED', `${operation}: replica ${rank} ${text}`, { rank, operation, cause });
    },
  };
}

/** A call, for errors. */
function wordsOf({ name, form = '' }: Joining): string {
  return form === '' ? name : `${name} of ${form}`;
}
