import { CollError, type ErrorCode } from '../support/errors.js';
import type { Failure } from './failures.js';

/**
 * The calls that a rank has refused, such as calls with invalid arguments. Ranks compare the counts
 * in each call, because a rank that catches the error of a refused call goes on with its next call
 * while the other ranks still wait in the refused one. Calls that were made with the same number of
 * refusals have the same object.
 */
export interface Refusals {
  readonly count: number;
  /** The error of the latest refused call. Undefined if there is none. */
  readonly latest: unknown;
}

/** No refused calls. */
export const noRefusals: Refusals = Object.freeze({ count: 0, latest: undefined });

/**
 * The refusals after one more, or after `times` more, the last one with `error`. The same error counts
 * once, even if several layers report it. Calls on something that was closed do not count, because no
 * later call can follow them.
 */
export function refusedAgain(refusals: Refusals, error: unknown, times = 1): Refusals {
  const isClosed = error instanceof CollError && error.code === 'ERR_COLL_CLOSED';
  return isClosed || error === refusals.latest ? refusals : { count: refusals.count + times, latest: error };
}

// Ranks exchange the index of a code, so all ranks of a group must have the same list.
const codes: readonly ErrorCode[] = [
  'ERR_COLL_VALUE',
  'ERR_COLL_BUFFER',
  'ERR_COLL_ABORTED',
  'ERR_COLL_BUSY',
  'ERR_COLL_CONTEXT',
  'ERR_COLL_REFUSED',
  'ERR_COLL_TYPE',
  'ERR_COLL_RANGE',
  'ERR_COLL_DEVICE',
  'ERR_COLL_DESTINATION',
  'ERR_COLL_NOT_IMPLEMENTED',
  'ERR_COLL_NOT_CLONEABLE',
  'ERR_COLL_SHAPE_MISMATCH',
  'ERR_COLL_DTYPE_MISMATCH',
  'ERR_COLL_MISMATCH',
];

/** The number that stands for the code of a rank's latest refusal; 0 for other errors. */
export function caughtNumber({ latest }: Refusals): number {
  return latest instanceof CollError ? codes.indexOf(latest.code) + 1 : 0;
}

/** The code for which a number of `caughtNumber` stands. Undefined for 0. */
export function caughtCode(number: number): ErrorCode | undefined {
  return codes[number - 1];
}

/**
 * The failure of a group in which only some ranks have refused a call.
 * @param rank the rank that has refused more calls than another one
 * @param code the code of the error that the rank caught
 * @param details the message of that error, if it is known, and the word for participants in
 * messages. Default: `rank`
 */
export function refusalFailure(
  rank: number,
  code: ErrorCode | undefined,
  { message, what = 'rank' }: { readonly message?: string; readonly what?: 'replica' | 'rank' } = {},
): Failure {
  const error = `${code ?? 'an error'}${message ? ` (${message})` : ''}`;
  const text = `caught ${error} in a call that other ${what}s have made, so the calls of the ${what}s no longer match`;
  const advice = `end the program or the group when a call fails on one ${what} alone`;
  return {
    reason: code === 'ERR_COLL_ABORTED' ? 'aborted' : 'failed',
    rank,
    ranks: [],
    text: `${text}; ${advice}`,
  };
}
