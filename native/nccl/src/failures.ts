import {
  AbortedError,
  CollError,
  type Collective,
  DeadlineExceededError,
  type ErrorDetails,
  NotImplementedError,
  RuntimeError,
  UnavailableError,
  ValueError,
} from '@coll/core';
import { nameOf } from '@coll/core/plugin';
import type { BindingError } from './nccl-binding.js';

/** NCCL's result codes for a lost rank or connection. */
const lostPeer: ReadonlySet<number> = new Set([2, 6]);

/** Converts an error of the addon to a CollError; returns any other value unchanged. */
export function errorFor(failure: unknown, details: ErrorDetails = {}): unknown {
  if (failure instanceof CollError || !isBindingError(failure)) return failure;
  // The message names operation, group and number, and ends with the latest operations.
  const { kind, code, operation, message: text } = failure;
  const all = { operation, ...details, cause: failure };
  switch (kind) {
    case 'timeout':
      return new DeadlineExceededError('ERR_COLL_DEADLINE', text, all);
    case 'aborted':
      return new AbortedError('ERR_COLL_ABORTED', text, all);
    case 'closed':
      return new RuntimeError('ERR_COLL_CLOSED', text, all);
    case 'invalid-argument':
      return new ValueError('ERR_COLL_REFUSED', text, all);
    case 'out-of-memory':
    case 'spoiled':
      return new CollError('ERR_COLL_BUFFER', text, all);
    case 'no-library':
      return new CollError('ERR_COLL_REFUSED', text, all);
    case 'nccl':
      if (lostPeer.has(code)) return new UnavailableError('ERR_COLL_PEER_FAILED', text, all);
      return new CollError('ERR_COLL_NCCL', text, all);
    default:
      return new CollError('ERR_COLL_NCCL', text, all);
  }
}

/** Whether the communicator still works after this failure. */
export function leavesUsable(failure: unknown): boolean {
  return isBindingError(failure) && ['invalid-argument', 'out-of-memory', 'spoiled'].includes(failure.kind);
}

/** Awaits a promise of the addon. @throws the CollError for its rejection */
export async function settled<Result>(promise: Promise<Result>, details?: ErrorDetails): Promise<Result> {
  try {
    return await promise;
  } catch (error) {
    throw errorFor(error, details);
  }
}

function isBindingError(failure: unknown): failure is BindingError {
  return failure instanceof Error && 'kind' in failure && 'sequence' in failure;
}

/** The error for a synchronous call, which NCCL does not support. */
export function blocksNoThread(collective: Collective): NotImplementedError {
  const operation = nameOf(collective);
  const message = `${operation}: NCCL has no synchronous calls: use the asynchronous call`;
  return new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation });
}
