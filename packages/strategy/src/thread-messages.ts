import * as core from '@coll/core';
import {
  CollError,
  type ErrorCode,
  IndexedSlices,
  Mirrored,
  mapStructure,
  PerReplica,
  RuntimeError,
  type Structure,
  type ThreadGroup,
} from '@coll/core';

/** What a replica thread starts with. */
export interface ThreadStart {
  readonly replica: number;
  readonly devices: readonly string[];
  readonly group: ThreadGroup;
  readonly plugin: { readonly name: string; readonly module: string; readonly options: unknown };
  readonly module: string;
  readonly exportName: string | undefined;
  readonly args: unknown;
}

/** What a replica thread says. */
export type FromReplica =
  | { readonly type: 'report'; readonly value: unknown }
  | { readonly type: 'merge'; readonly args: unknown }
  | { readonly type: 'merged'; readonly results: readonly unknown[] }
  | { readonly type: 'result'; readonly value: unknown }
  | { readonly type: 'error'; readonly error: EncodedError };

/** What it is told: to hold a merge call for all, or its part of the outcome. */
export type ToReplica =
  | { readonly type: 'hold'; readonly args: readonly unknown[] }
  | { readonly type: 'outcome'; readonly value: unknown };

// Marks classes whose instances would arrive as plain objects. Posted values are plain data of this library's own threads.
const classKey = '@coll/class';

/** A value in a form that can be posted: structures of plain data, tensors, indexed slices and distributed values. */
export function encode(value: unknown): unknown {
  return mapStructure(value as Structure<unknown>, (leaf) => {
    if (leaf instanceof IndexedSlices) {
      return { [classKey]: 'IndexedSlices', values: leaf.values, indices: leaf.indices, denseShape: leaf.denseShape };
    }
    if (leaf instanceof PerReplica || leaf instanceof Mirrored)
      return { [classKey]: leaf.kind, values: leaf.values.map(encode) };
    return leaf;
  });
}

/** The inverse of `encode`. */
export function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (!core.isMapping(value)) return value;
  const fields = value as { values: unknown; indices: core.Tensor; denseShape?: readonly number[] };
  switch (value[classKey]) {
    case 'IndexedSlices':
      return new IndexedSlices(fields.values as core.Tensor, fields.indices, fields.denseShape);
    case 'PerReplica':
      return new PerReplica((fields.values as unknown[]).map(decode));
    case 'Mirrored':
      return new Mirrored((fields.values as unknown[]).map(decode));
    default:
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item)]));
  }
}

/** Posts a message. @throws RuntimeError that says what cannot be posted */
export function post(
  port: { postMessage(message: unknown): void },
  message: FromReplica | ToReplica,
  what: string,
): void {
  try {
    port.postMessage(message);
  } catch (cause) {
    throw notCloneable(what, cause);
  }
}

export function notCloneable(what: string, cause: unknown): RuntimeError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new RuntimeError(
    'ERR_COLL_NOT_CLONEABLE',
    `${what} cannot be posted between threads (${why}); hand over plain data and tensors`,
    { cause },
  );
}

export interface EncodedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly rank: number | undefined;
  readonly operation: string | undefined;
  readonly cause: string | undefined;
}

export function encodeError(error: unknown): EncodedError {
  const {
    name = 'Error',
    message = String(error),
    stack,
    code,
    rank,
    operation,
    cause,
  } = Object(error) as Partial<CollError>;
  return {
    name,
    message,
    stack,
    code: typeof code === 'string' ? code : undefined,
    rank,
    operation,
    cause: cause === undefined ? undefined : String(cause),
  };
}

/** An error of the class that it had, where that is one of ours or the language's. */
export function decodeError({ name, message, stack, code, rank, operation, cause }: EncodedError): Error {
  const details = { cause, ...(rank === undefined ? {} : { rank }), ...(operation === undefined ? {} : { operation }) };
  const error = create(name, code, message, details);
  if (stack !== undefined) Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true });
  if (rank !== undefined && !('rank' in error)) Object.assign(error, { rank });
  if (code !== undefined && !('code' in error)) Object.assign(error, { code });
  return error;
}

function create(name: string, code: string | undefined, message: string, details: core.ErrorDetails): Error {
  const isOurs = code?.startsWith('ERR_COLL_') === true;
  if (isOurs && name === 'TypeError') return new core.WrongTypeError(message, details);
  if (isOurs && name === 'RangeError') return new core.OutOfRangeError(message, details);
  const ours = (core as Record<string, unknown>)[name];
  if (isOurs && isErrorClass(ours)) return new ours(code as ErrorCode, message, details);
  const builtIn = { TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError }[name] ?? Error;
  const error = new builtIn(message, details.cause === undefined ? {} : { cause: details.cause });
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true });
  return error;
}

function isErrorClass(value: unknown): value is typeof CollError {
  return typeof value === 'function' && (value === CollError || value.prototype instanceof CollError);
}
