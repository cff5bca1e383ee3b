import {
  CollError,
  type DType,
  type ErrorCode,
  type ErrorDetails,
  InternalError,
  InvalidArgumentError,
} from '@coll/core';
import { failureError, type Refusals, refusalFailure } from '@coll/core/internal';

/** The parts of a call that must be equal on all ranks. */
export interface Request {
  /** Kind, op and root, as text. */
  readonly operation: string;
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  /** Number of calls that the process refused before this one. Default: 0. */
  readonly refused?: number;
  /** The code of the latest of these refusals. */
  readonly caught?: ErrorCode;
}

/** The part of a request that describes the calls which the process has refused. */
export function refusedIn({ count, latest }: Refusals): Pick<Request, 'refused' | 'caught'> {
  if (count === 0) return {};
  return { refused: count, ...(latest instanceof CollError ? { caught: latest.code } : {}) };
}

/** What one process requests in a call; `rank` is the lowest rank of this process. */
export interface Asked {
  readonly rank: number;
  readonly request: Request;
}

/**
 * The error that all ranks throw if their requests differ; undefined if they are equal. The message
 * names the last rank that deviates from the most common request.
 */
export function disagreement(asked: readonly Asked[]): CollError | undefined {
  const refused = asked.map(({ request }) => request.refused ?? 0);
  const most = Math.max(...refused);
  if (refused.some((count) => count !== most)) {
    const { rank, request } = asked[refused.indexOf(most)] as Asked;
    return failureError(refusalFailure(rank, request.caught), { operation: request.operation });
  }
  const countOf = ({ request }: Asked) => asked.filter((other) => textOf(other.request) === textOf(request)).length;
  const usual = asked.reduce((best, one) => (countOf(one) > countOf(best) ? one : best));
  const odd = asked.findLast((one) => textOf(one.request) !== textOf(usual.request));
  if (!odd) return undefined;
  const text = `rank ${odd.rank} asks for ${textOf(odd.request)}, others for ${textOf(usual.request)}`;
  const details: ErrorDetails = { rank: odd.rank, operation: usual.request.operation };
  const message = `${text}: all ranks must issue the same collectives in the same order`;
  if (odd.request.operation !== usual.request.operation)
    return new InternalError('ERR_COLL_MISMATCH', message, details);
  if (odd.request.dtype !== usual.request.dtype) return new InternalError('ERR_COLL_DTYPE_MISMATCH', message, details);
  return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', message, details);
}

function textOf({ operation, dtype, length }: Request): string {
  return `${operation} of ${length} elements of ${dtype}`;
}
