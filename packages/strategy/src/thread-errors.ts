import * as core from '@coll/core';
import { CollError, type ErrorCode, RuntimeError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';
import { setStack } from './replica-error.js';

type Plain = string | number | boolean | bigint;

/** An error as plain data. Posted directly, an error would lose its class, code and fields. */
export interface EncodedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /**
   * The error's own fields with plain values: `code`, `rank`, `operation`, and the fields of its
   * class.
   */
  readonly fields: Readonly<Record<string, Plain>>;
  readonly cause: { readonly error: EncodedError } | { readonly value: Plain } | undefined;
}

export function encodeError(thrown: unknown): EncodedError {
  const error =
    thrown instanceof Error ? thrown : new RuntimeError('ERR_COLL_REPLICA', messageOf(thrown), { cause: thrown });
  const { name, message, stack, cause } = error;
  const fields = Object.entries(error).filter(([key, value]) => key !== 'name' && isPlain(value));
  return { name, message, stack, fields: Object.fromEntries(fields), cause: encodeCause(cause) };
}

/**
 * Recreates an error with its original class if that belongs to this library or to JavaScript,
 * otherwise an `Error` with the original name.
 */
export function decodeError(encoded: EncodedError): Error {
  const { name, stack, fields } = encoded;
  const error = create(encoded);
  for (const [key, value] of Object.entries(fields)) {
    if ((error as unknown as Record<string, unknown>)[key] === undefined) Object.assign(error, { [key]: value });
  }
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  if (stack !== undefined) setStack(error, stack);
  return error;
}

/** Whether an error has this code because the replicas made different calls. */
export function isMismatch(code: ErrorCode | undefined): boolean {
  return code !== undefined && mismatches.includes(code);
}

const mismatches: readonly ErrorCode[] = ['ERR_COLL_MISMATCH', 'ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH'];

function encodeCause(cause: unknown): EncodedError['cause'] {
  if (cause === undefined) return undefined;
  if (cause instanceof Error) return { error: encodeError(cause) };
  return { value: isPlain(cause) ? cause : quote(cause) };
}

function create({ name, message, fields, cause: encoded }: EncodedError): Error {
  const cause = encoded && ('error' in encoded ? decodeError(encoded.error) : encoded.value);
  const isOurs = String(fields['code']).startsWith('ERR_COLL_');
  if (isOurs && name === 'TypeError') return new core.WrongTypeError(message, { ...fields, cause });
  if (isOurs && name === 'RangeError') return new core.OutOfRangeError(message, { ...fields, cause });
  if (isOurs) return new (errorClass(name))(fields['code'] as ErrorCode, message, { ...fields, cause });
  const builtIn = { TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError }[name] ?? Error;
  return new builtIn(message, cause === undefined ? {} : { cause });
}

function errorClass(name: string): typeof CollError {
  const ours = (core as Record<string, unknown>)[name];
  const isErrorClass = typeof ours === 'function' && ours.prototype instanceof CollError;
  return isErrorClass ? (ours as typeof CollError) : CollError;
}

function isPlain(value: unknown): value is Plain {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value);
}
