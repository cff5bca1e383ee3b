import {
  AbortedError,
  type CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
} from '../support/errors.js';
import { keepWords, type RankName } from '../support/rank-words.js';

/**
 * The reasons why a group fails. Shared memory, the C++ code and messages between processes store
 * the index of a reason, so the order must not change.
 */
export const failureReasons = [
  'shapes',
  'dtypes',
  'mismatch',
  'aborted',
  'failed',
  'closed',
  'deadline',
  'lost',
] as const;

/**
 * Why a group failed. Members disagreed: their calls differ only in shape (`shapes`), only in dtype
 * (`dtypes`), or in anything else (`mismatch`). A signal aborted a call (`aborted`). A member threw
 * an error (`failed`), closed the group while others waited (`closed`), or was lost (`lost`). A
 * deadline has passed (`deadline`).
 */
export type FailureReason = (typeof failureReasons)[number];

/** Maximum number of ranks that a failure names besides the one that caused it. */
export const mostOtherRanks = 64;

/**
 * The failure of a group. A rank number `size + r`, where `size` is the size of the group, denotes
 * rank `r` of the enclosing group.
 */
export interface Failure {
  readonly reason: FailureReason;
  /** The rank because of which the group failed; -1 for none of its ranks. */
  readonly rank: number;
  /** Other ranks that the message names, at most `mostOtherRanks`. */
  readonly ranks: readonly number[];
  /**
   * For a disagreement, the whole message. For a deadline, a phrase that completes a sentence about
   * `ranks` (`did not arrive`). Otherwise a phrase that completes a sentence about `rank`
   * (`failed: out of memory`).
   */
  readonly text: string;
  /** Further ranks that were lost; the message names them. Default: none. */
  readonly lost?: readonly number[] | undefined;
  /** The host of `rank`, followed by the hosts of `ranks`; empty if unknown. Default: all unknown. */
  readonly hosts?: readonly string[] | undefined;
}

/** The call that fails because of a group's failure. */
export interface FailedCall {
  readonly operation: string;
  /** Text that identifies the collective; follows the operation in messages. Default: none. */
  readonly where?: string;
  /** Number of ranks of the group. Default: all rank numbers denote ranks of the group itself. */
  readonly size?: number;
  /**
   * If the group was made by `split`: the rank of each of its members in the whole group. Messages
   * then contain both numbers.
   */
  readonly whole?: readonly number[] | undefined;
  /** The word for participants in messages. Default: `rank`. */
  readonly what?: 'replica' | 'rank' | undefined;
  /** The names of the ranks in messages. Default: their numbers. */
  readonly names?: readonly string[] | undefined;
  readonly cause?: unknown;
}

const key = Symbol.for('@coll/core.failure');

const kinds = {
  shapes: [InvalidArgumentError, 'ERR_COLL_SHAPE_MISMATCH'],
  dtypes: [InternalError, 'ERR_COLL_DTYPE_MISMATCH'],
  mismatch: [InternalError, 'ERR_COLL_MISMATCH'],
  aborted: [AbortedError, 'ERR_COLL_ABORTED'],
  closed: [RuntimeError, 'ERR_COLL_CLOSED'],
  deadline: [DeadlineExceededError, 'ERR_COLL_DEADLINE'],
  failed: [UnavailableError, 'ERR_COLL_PEER_FAILED'],
  lost: [UnavailableError, 'ERR_COLL_PEER_FAILED'],
} as const;

/** The error that a call throws because its group failed. */
export function failureError(
  failure: Failure,
  { operation, where = '', size = Infinity, whole, what, names, cause }: FailedCall,
): CollError {
  const { reason, rank } = failure;
  const [Type, code] = kinds[reason];
  const head = isDisagreement(reason) ? '' : `${operation}${where}: `;
  const words = (name: RankName) => head + failureWords(failure, name, what);
  const message = words(
    (other) => names?.[other] ?? (other < size ? nameIn(whole, other) : `${other - size} of the enclosing group`),
  );
  const ranks = culpritsOf(failure);
  const wholeRanks = whole && ranks?.map((other) => whole[other] ?? other - size);
  return keepFailure(
    keepWords(
      new Type(code, message, { operation, rank: rank < 0 ? undefined : rank, ranks, wholeRanks, cause }),
      words,
    ),
    failure,
  );
}

/** The name of a rank in a message; for a group made by `split`, with its number in the whole group. */
export function nameIn(whole: readonly number[] | undefined, rank: number): string {
  return whole ? `${rank} (rank ${whole[rank]} of the whole group)` : `${rank}`;
}

/** All ranks that are lost, have failed or left, or did not arrive; undefined if there are none. */
function culpritsOf({ reason, rank, ranks, lost = [] }: Failure): readonly number[] | undefined {
  const named = reason === 'deadline' || isDisagreement(reason) || reason === 'aborted' ? [] : [rank];
  const others = reason === 'deadline' || reason === 'lost' ? ranks : [];
  const all = [...new Set([...named, ...others, ...lost])].filter((other) => other >= 0);
  return all.length > 0 ? all.sort((a, b) => a - b) : undefined;
}

/** Attaches the failure of a group to an error that a call throws because of this failure. */
export function keepFailure(error: CollError, failure: Failure): CollError {
  return Object.defineProperty(error, key, { value: failure });
}

/** The group's failure attached to an error; undefined for errors without one. */
export function keptFailure(error: CollError): Failure | undefined {
  return (error as { readonly [key]?: Failure })[key];
}

/** The failure that an error causes in its group; `rank` is used if the error names no rank. */
export function failureOf(error: CollError, rank: number): Failure {
  const reason = reasonOf(error);
  const text = isDisagreement(reason) ? error.message : `failed: ${error.message}`;
  return keptFailure(error) ?? { reason, rank: error.rank ?? rank, ranks: [], text };
}

/**
 * The reason that the other members receive when one member ends the group because of this error.
 */
export function reasonOf({ code }: CollError): FailureReason {
  return failureReasons.find((reason) => kinds[reason][1] === code) ?? 'failed';
}

/** Whether a failure means that members made different calls. */
export function isDisagreement(reason: FailureReason): boolean {
  return reason === 'shapes' || reason === 'dtypes' || reason === 'mismatch';
}

function failureWords(failure: Failure, name: RankName, what = 'rank'): string {
  const { lost = [] } = failure;
  const words = reasonWords(failure, name, what);
  if (lost.length === 0) return words;
  return `${words}; ${lost.map((rank) => `rank ${name(rank)}`).join(', ')} ${lost.length > 1 ? 'were' : 'was'} lost, too`;
}

function reasonWords({ reason, rank, ranks, text, hosts = [] }: Failure, name: RankName, what: string): string {
  if (isDisagreement(reason) || rank < 0) return text;
  const [culprit, ...others] = [rank, ...ranks].map((other, index) => {
    const host = hosts[index];
    return `${what} ${name(other)}${host ? ` on ${host}` : ''}`;
  });
  if (others.length === 0) return `${culprit} ${text}`;
  const list = others.join(', ');
  if (reason === 'lost') return `${culprit} ${text}; ${list} ${others.length > 1 ? 'were' : 'was'} lost, too`;
  if (reason !== 'deadline') return `${culprit} ${text} (${list})`;
  const missing = `rank ${ranks.map(name).join(', ')} ${text}`;
  return `timed out on rank ${name(rank)} waiting for other workers: ${missing}${hosts.length > 0 ? ` (${list})` : ''}`;
}
