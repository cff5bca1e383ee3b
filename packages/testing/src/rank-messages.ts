import {
  AbortedError,
  AssertionError,
  CollError,
  type Collective,
  DeadlineExceededError,
  type DType,
  type ErrorCode,
  InternalError,
  InvalidArgumentError,
  NotImplementedError,
  RuntimeError,
  type ThreadGroup,
  UnavailableError,
  ValueError,
} from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { Call } from './group.js';
import type { ModuleExport } from './suite-algorithm.js';

/**
 * A request to the thread of a rank. `group` identifies the group, because a thread may be in
 * several groups.
 */
export type Request =
  | {
      readonly type: 'join';
      readonly group: number;
      readonly rank: number;
      readonly threads: ThreadGroup;
      readonly source: ModuleExport;
      /** The URL of the module that registers the engine that created the group. */
      readonly engineModule: string | undefined;
    }
  | { readonly type: 'refuses'; readonly group: number; readonly collective: Collective; readonly dtype: DType }
  | { readonly type: 'execute'; readonly group: number; readonly calls: readonly Call[] }
  | { readonly type: 'reserve'; readonly group: number; readonly bytes: number }
  | { readonly type: 'close'; readonly group: number }
  | { readonly type: 'inspect'; readonly module: string; readonly plugin: string };

export interface Reply {
  readonly ticket: number;
  readonly answer?: unknown;
  readonly error?: EncodedError;
}

/**
 * The answer to the request `execute`: the outcome of each call, and the contents of its buffers in
 * the order of `buffersOf`.
 */
export interface ExecutionReport {
  readonly outcomes: readonly (EncodedError | undefined)[];
  readonly buffers: readonly (readonly (ArrayBuffer | undefined)[])[];
}

/** The fields of an error. If the error itself were posted, it would lose its class and code. */
export interface EncodedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly rank?: number;
  readonly ranks?: readonly number[];
  readonly wholeRanks?: readonly number[];
  readonly operation?: string;
  readonly cause?: string;
}

const classes = [
  AbortedError,
  AssertionError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  NotImplementedError,
  RuntimeError,
  UnavailableError,
  ValueError,
];

export function encodeError(error: Error): EncodedError {
  const { name, message, code, rank, ranks, wholeRanks, operation, cause } = error as Partial<CollError> & Error;
  return {
    name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(rank === undefined ? {} : { rank }),
    ...(ranks === undefined ? {} : { ranks }),
    ...(wholeRanks === undefined ? {} : { wholeRanks }),
    ...(operation === undefined ? {} : { operation }),
    ...(cause === undefined ? {} : { cause: messageOf(cause) }),
  };
}

/** Restores an error, with its original class if that belongs to this library. */
export function decodeError({ name, message, code, rank, ranks, wholeRanks, operation, cause }: EncodedError): Error {
  if (code === undefined) return new Error(`${name}: ${message}`);
  const Class = classes.find((known) => known.name === name) ?? CollError;
  return new Class(code as ErrorCode, message, {
    ...(rank === undefined ? {} : { rank }),
    ...(ranks === undefined ? {} : { ranks }),
    ...(wholeRanks === undefined ? {} : { wholeRanks }),
    ...(operation === undefined ? {} : { operation }),
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
  });
}

/** The distinct buffers of a call's tensors, inputs first. */
export function buffersOf({ inputs, outputs }: Call): ArrayBufferLike[] {
  return [...new Set([...inputs, ...outputs].map(({ data }) => data.buffer))];
}
