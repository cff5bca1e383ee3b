import { type CollError, UnavailableError } from '@coll/core';
import { adviceForNextRun, type GenerationRecord } from './generation-record.js';

/** The error of the members of a generation that has ended because a member joined a newer one. */
export function overtakenError(
  generation: number,
  { rank, generation: newer }: Pick<GenerationRecord, 'rank' | 'generation'>,
  operation: string,
): UnavailableError {
  const message = `generation ${generation} has ended, because rank ${rank} joined generation ${newer}`;
  const advice = `join the newer generation; ${adviceForNextRun(newer)}`;
  return new UnavailableError('ERR_COLL_STORE', `${message}; ${advice}`, { rank, operation });
}

/**
 * The error of a member that joins after its generation was overtaken. If the loss of a member had ended
 * the generation before, as in `first`, the error names that member, too.
 */
export function lateError(overtaken: UnavailableError, first: CollError): UnavailableError {
  if (first.code !== 'ERR_COLL_PEER_FAILED') return overtaken;
  const { rank, ranks, message } = first;
  const { code, operation } = overtaken;
  return new UnavailableError(code, `${overtaken.message} (before, ${message})`, {
    rank,
    ranks,
    operation,
    cause: first,
  });
}
