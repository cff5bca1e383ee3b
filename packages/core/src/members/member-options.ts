import type { RunOptions } from '../runtime/communicator.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { requireTimeout } from '../support/requirements.js';
import { requireSignal } from '../support/signal.js';
import type { Float16ArrayLike, TypedArray } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';

/** A member's value: a typed array, or a tensor. */
export type MemberData = TypedArray | Float16ArrayLike | Tensor;

/** Timeout and abort signal of a call. */
export interface WaitingOptions {
  /**
   * Aborts the wait with `AbortedError`, and fails the group. If the signal is already aborted when
   * the call is made, the call is refused: members compare how many calls each of them has refused,
   * and their next call fails if the counts differ. Default: none.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Seconds to wait for the other members, counted from the end of this member's earlier calls.
   * After that, the call throws `DeadlineExceededError`, and the group fails. Null and ≤ 0 mean no
   * limit. Default: null.
   */
  readonly timeoutSeconds?: number | null | undefined;
}

/** Options of a collective with a result. */
export interface MemberOptions<T = MemberData | readonly MemberData[]> extends WaitingOptions {
  /**
   * Memory for the result, in the form of the value; the call returns it. A tensor must have the
   * shape of the result. Default: new memory.
   */
  readonly into?: T | undefined;
}

/** The options of `send`, `receive`, `barrier` and `split`. */
const waitingOptions = knownOptions<WaitingOptions>('a call of a member', { signal: true, timeoutSeconds: true });

/** The options of the collectives with a result. */
export const memberOptions = knownOptions<MemberOptions>('a collective of a member', {
  signal: true,
  timeoutSeconds: true,
  into: true,
});

/** The options of a call without a result. @throws ValueError for invalid options */
export function waitingOf(options: WaitingOptions | undefined): RunOptions {
  return runOptionsOf(optionsOf(options, '{ timeoutSeconds, signal }', waitingOptions));
}

/** @throws ValueError for an invalid signal or timeout */
export function runOptionsOf({ signal, timeoutSeconds }: WaitingOptions): RunOptions {
  requireSignal(signal);
  if (timeoutSeconds !== undefined) requireTimeout(timeoutSeconds);
  return { ...(signal ? { signal } : {}), ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }) };
}
