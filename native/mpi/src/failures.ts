import { CollError, type ErrorDetails, InternalError, RuntimeError, ValueError } from '@coll/core';
import { bytesOfDescriptors, Descriptors, type Failure, failureReasons } from '@coll/core/internal';
import type { BindingError, NativeFailure } from './mpi-binding.js';

/** Converts an error of the addon to a CollError; returns any other value unchanged. */
export function errorFor(failure: unknown, details: ErrorDetails = {}): unknown {
  if (failure instanceof CollError || !isBindingError(failure)) return failure;
  const { kind, message } = failure;
  const all = { ...details, cause: failure };
  switch (kind) {
    case 'invalid-argument':
      return new ValueError('ERR_COLL_REFUSED', message, all);
    case 'no-library':
      return new CollError('ERR_COLL_REFUSED', `mpi: ${message}`, all);
    case 'busy':
      return new RuntimeError('ERR_COLL_CONTEXT', `mpi: ${message}`, all);
    default:
      return new InternalError('ERR_COLL_INTERNAL', `mpi: the MPI library reports: ${message}`, all);
  }
}

/** Converts a failure from the form of the addon. */
export function failureFrom([reason, rank, ranks, text]: NativeFailure): Failure {
  return { reason: failureReasons[reason] ?? 'failed', rank, ranks, text };
}

/**
 * The error that every rank throws if their calls differ. `announced`: the descriptors of all ranks,
 * one after the other; `names`: the names of the ranks.
 */
export function disagreementOf(announced: Float64Array, size: number, names: readonly string[] | undefined): CollError {
  const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(size)), size);
  const fields = announced.length / size;
  for (let rank = 0; rank < size; rank++)
    table.announcedBy(rank).set(announced.subarray(rank * fields, (rank + 1) * fields));
  const message = 'ranks disagree about a collective; all ranks must make the same calls in the same order';
  return table.mismatch(names) ?? new InternalError('ERR_COLL_MISMATCH', message);
}

function isBindingError(failure: unknown): failure is BindingError {
  return failure instanceof Error && 'kind' in failure && 'code' in failure;
}
