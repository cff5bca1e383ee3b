import {
  AbortedError,
  type CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
} from '@coll/core';
import { bytesOfDescriptors, Descriptors } from '@coll/core/executor';
import type { NativeFailure } from './process-binding.js';

/** Why a group ended, in the order in which C++ numbers them. */
export const failureKinds = [
  'shapes',
  'dtypes',
  'mismatch',
  'aborted',
  'failed',
  'closed',
  'deadline',
  'lost',
] as const;

/** Why a group ended. */
export type FailureKind = (typeof failureKinds)[number];

/** Numbers of a descriptor. */
export const stateWords = bytesOfDescriptors(1) / 16;

/** The error of every collective of a group that has ended. */
export function failureError(operation: string, number: number, [kind, rank, text]: NativeFailure): CollError {
  const details = { operation, rank };
  const told = `${operation} (collective ${number} of the group): ${text}`;
  switch (failureKinds[kind]) {
    // These say themselves which collective is meant.
    case 'shapes':
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', text, details);
    case 'dtypes':
      return new InternalError('ERR_COLL_DTYPE_MISMATCH', text, details);
    case 'mismatch':
      return new InternalError('ERR_COLL_MISMATCH', text, details);
    case 'aborted':
      return new AbortedError('ERR_COLL_ABORTED', told, details);
    case 'closed':
      return new RuntimeError('ERR_COLL_CLOSED', told, details);
    case 'deadline':
      return new DeadlineExceededError('ERR_COLL_DEADLINE', told, details);
    default:
      return new UnavailableError('ERR_COLL_PEER_FAILED', told, details);
  }
}

/** How ranks disagree, of which some may be unknown; the same kinds and words as among threads. */
export function disagreementOf(states: readonly (readonly number[] | undefined)[]): CollError {
  const memory = new SharedArrayBuffer(bytesOfDescriptors(states.length));
  const words = new Float64Array(memory);
  // Who has not come yet is counted among the majority, and so not named.
  const usual = mostFrequent(states.filter((state) => state !== undefined));
  for (const [rank, state] of states.entries()) words.set(state ?? usual, rank * stateWords);
  const cure = 'all ranks must make the same calls in the same order';
  const found = new Descriptors(memory, states.length).mismatch();
  return found ?? new InternalError('ERR_COLL_MISMATCH', `ranks disagree about a collective; ${cure}`);
}

/** The kind of failure that such an error stands for. */
export function kindOf({ code }: CollError): FailureKind {
  if (code === 'ERR_COLL_SHAPE_MISMATCH') return 'shapes';
  return code === 'ERR_COLL_DTYPE_MISMATCH' ? 'dtypes' : 'mismatch';
}

function mostFrequent(states: readonly (readonly number[])[]): readonly number[] {
  const votes = (state: readonly number[]) => states.filter((other) => other.join() === state.join()).length;
  return states.reduce((best, state) => (votes(state) > votes(best) ? state : best));
}
