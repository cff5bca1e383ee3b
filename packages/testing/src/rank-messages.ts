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

/** What a rank's thread is asked for. `group` tells the groups apart that it is in. */
export type Request =
  | {
      readonly type: 'join';
      readonly group: number;
      readonly rank: number;
      readonly threads: ThreadGroup;
      readonly source: ModuleExport;
      /** Registers the engine that made the group. */
      readonly engineModule: string | undefined;
    }
  | { readonly type: 'refuses'; readonly group: number; readonly collective: Collective; readonly dtype: DType }
  | { readonly type: 'play'; readonly group: number; readonly calls: readonly Call[] }
  | { readonly type: 'reserve'; readonly group: number; readonly bytes: number }
  | { readonly type: 'close'; readonly group: number }
  | { readonly type: 'inspect'; readonly module: string; readonly plugin: string };

export interface Reply {
  readonly ticket: number;
  readonly answer?: unknown;
  readonly error?: EncodedError;
}

/** The answer to `play`: what came of each call, and what its buffers hold then, each once, in the order of the tensors. */
export interface Played {
  readonly outcomes: readonly (EncodedError | undefined)[];
  readonly buffers: readonly (readonly (ArrayBuffer | undefined)[])[];
}

/** An error's fields: class and code would not survive being posted. */
export interface EncodedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly rank?: number;
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
  const { name, message, code, rank, operation, cause } = error as Partial<CollError> & Error;
  return {
    name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(rank === undefined ? {} : { rank }),
    ...(operation === undefined ? {} : { operation }),
    ...(cause === undefined ? {} : { cause: messageOf(cause) }),
  };
}

/** The error in this thread, of the same class where it is one of ours. */
export function decodeError({ name, message, code, rank, operation, cause }: EncodedError): Error {
  if (code === undefined) return new Error(`${name}: ${message}`);
  const Class = classes.find((known) => known.name === name) ?? CollError;
  return new Class(code as ErrorCode, message, {
    ...(rank === undefined ? {} : { rank }),
    ...(operation === undefined ? {} : { operation }),
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
  });
}

/** The buffers under a call's tensors, each once, inputs first. */
export function buffersOf({ inputs, outputs }: Call): ArrayBufferLike[] {
  return [...new Set([...inputs, ...outputs].map(({ data }) => data.buffer))];
}
