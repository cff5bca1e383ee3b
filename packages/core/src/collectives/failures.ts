import {
  AbortedError,
  type CollError,
  DeadlineExceededError,
  type ErrorCode,
  type ErrorDetails,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
} from '../support/errors.js';

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

/**
 * A message as data: strings, and numbers that stand for ranks. Each group can thus name the ranks
 * in its own way.
 */
export type RankText = readonly (string | number)[];

/**
 * What an error about ranks of a group carries for an enclosing group, in which these ranks have
 * other names.
 */
export interface ErrorRecord {
  /** The message. */
  readonly text: RankText;
  /** The failure of the group. Undefined if the error reports none. */
  readonly failure?: Failure | undefined;
  /** The error of the enclosing group that made this group fail. Undefined if there is none. */
  readonly whole?: CollError | undefined;
}

// Works across separately installed copies of the library.
const key = Symbol.for('@coll/core.error-record');

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
  const text = [head, ...failureText(failure, what)];
  const message = textWith(
    text,
    (other) => names?.[other] ?? (other < size ? nameIn(whole, other) : `${other - size} of the enclosing group`),
  );
  const ranks = culpritsOf(failure);
  const wholeRanks = whole && ranks?.map((other) => whole[other] ?? other - size);
  const details = { operation, rank: rank < 0 ? undefined : rank, ranks, wholeRanks, cause };
  return keepRecord(new Type(code, message, details), { text, failure });
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

/** An error about ranks of a group, whose message is `text`. */
export function rankError<E extends CollError>(
  Type: new (code: ErrorCode, message: string, details: ErrorDetails) => E,
  code: ErrorCode,
  text: RankText,
  details: ErrorDetails,
): E {
  return keepRecord(new Type(code, textWith(text, String), details), { text });
}

/** A message with the ranks named by `name`. */
export function textWith(text: RankText, name: (rank: number) => string): string {
  return text.map((part) => (typeof part === 'string' ? part : name(part))).join('');
}

/** Attaches a record to a new error. */
export function keepRecord<E extends CollError>(error: E, record: ErrorRecord): E {
  return Object.defineProperty(error, key, { value: record });
}

/** The record of an error. An error without one has a fixed message. */
export function recordOf(error: CollError): ErrorRecord {
  return (error as { readonly [key]?: ErrorRecord })[key] ?? { text: [error.message] };
}

/** The group's failure that an error reports; undefined for errors that report none. */
export function keptFailure(error: CollError): Failure | undefined {
  return recordOf(error).failure;
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

function failureText(failure: Failure, what = 'rank'): RankText {
  const { lost = [] } = failure;
  const text = reasonText(failure, what);
  if (lost.length === 0) return text;
  const list = listed(lost.map((rank) => ['rank ', rank]));
  return [...text, '; ', ...list, ` ${lost.length > 1 ? 'were' : 'was'} lost, too`];
}

function reasonText({ reason, rank, ranks, text, hosts = [] }: Failure, what: string): RankText {
  if (isDisagreement(reason) || rank < 0) return [text];
  const [culprit, ...others] = [rank, ...ranks].map((other, index): RankText => {
    const host = hosts[index];
    return [`${what} `, other, host ? ` on ${host}` : ''];
  }) as [RankText, ...RankText[]];
  if (others.length === 0) return [...culprit, ` ${text}`];
  const list = listed(others);
  if (reason === 'lost') {
    return [...culprit, ` ${text}; `, ...list, ` ${others.length > 1 ? 'were' : 'was'} lost, too`];
  }
  if (reason !== 'deadline') return [...culprit, ` ${text} (`, ...list, ')'];
  const missing = [...listed(ranks.map((other) => [other])), ` ${text}`];
  const onHosts = hosts.length > 0 ? [' (', ...list, ')'] : [];
  return ['timed out on rank ', rank, ' waiting for other workers: rank ', ...missing, ...onHosts];
}

/** The texts, separated by commas. */
function listed(texts: readonly RankText[]): RankText {
  return texts.flatMap((text, index) => (index === 0 ? text : [', ', ...text]));
}
