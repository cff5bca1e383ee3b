import * as core from '@coll/core';
import { CollError, type ErrorCode, RuntimeError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';
import { setStack } from '../replicas/replica-error.js';

type Plain = string | number | boolean | bigint;
type Field = Plain | readonly Plain[];

/**
 * An error as plain data, followed by the errors that it refers to. Posted directly, an error would
 * lose its class, code and fields. The list is flat, because a chain of causes may be long or
 * circular.
 */
export type EncodedError = readonly EncodedPart[];

interface EncodedPart {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /**
   * The error's own fields with plain values or lists of them: `code`, `rank`, `ranks`, `operation`,
   * and the fields of its class.
   */
  readonly fields: Readonly<Record<string, Field>>;
  /** Its `cause`, and its fields that are errors. */
  readonly links: Readonly<Record<string, Link>>;
  /** The `errors` of an `AggregateError`. */
  readonly errors: readonly Link[] | undefined;
}

/** Another error, by its index in the list, or another value. */
type Link = { readonly error: number } | { readonly value: Plain };

export function encodeError(thrown: unknown): EncodedError {
  const first =
    thrown instanceof Error ? thrown : new RuntimeError('ERR_COLL_REPLICA', messageOf(thrown), { cause: thrown });
  const indices = new Map<Error, number>([[first, 0]]);
  const linkTo = (value: unknown): Link => {
    if (!(value instanceof Error)) return { value: isPlain(value) ? value : quote(value) };
    const index = indices.get(value) ?? indices.size;
    indices.set(value, index);
    return { error: index };
  };
  // The map grows while its errors are encoded.
  return Array.from(indices.keys(), (error) => encodePart(error, linkTo));
}

function encodePart(error: Error, linkTo: (value: unknown) => Link): EncodedPart {
  const { name, message, stack, cause } = error;
  const { errors } = error as { readonly errors?: unknown };
  const own = Object.entries(error).filter(([key]) => key !== 'name');
  // SuppressedError has its two errors in fields that are not enumerable.
  const hidden = ['error', 'suppressed'].map(
    (key) => [key, (error as unknown as Record<string, unknown>)[key]] as const,
  );
  const linked = [...own, ...hidden].filter(([, value]) => value instanceof Error);
  const links = linked.map(([key, value]) => [key, linkTo(value)] as const);
  return {
    name: textOf(name),
    message: textOf(message),
    stack: stack === undefined ? undefined : textOf(stack),
    fields: Object.fromEntries(own.filter(([key, value]) => key !== 'errors' && isField(value))) as Record<
      string,
      Field
    >,
    links: Object.fromEntries(cause === undefined ? links : [...links, ['cause', linkTo(cause)]]),
    errors: Array.isArray(errors) ? errors.map(linkTo) : undefined,
  };
}

/**
 * Recreates an error with its original class if that belongs to this library or to JavaScript,
 * otherwise an `Error` with the original name.
 */
export function decodeError(encoded: EncodedError): Error {
  const errors = encoded.map(decodePart);
  const target = (link: Link) => ('error' in link ? errors[link.error] : link.value);
  for (const [index, { links, errors: list }] of encoded.entries()) {
    const error = errors[index] as Error;
    for (const [key, link] of Object.entries(links)) define(error, key, target(link));
    if (list) define(error, 'errors', list.map(target));
  }
  return errors[0] as Error;
}

function decodePart(part: EncodedPart): Error {
  const { name, stack, fields } = part;
  const error = create(part);
  for (const [key, value] of Object.entries(fields)) {
    if ((error as unknown as Record<string, unknown>)[key] === undefined) Object.assign(error, { [key]: value });
  }
  if (error.name !== name) define(error, 'name', name);
  if (stack !== undefined) setStack(error, stack);
  return error;
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true });
}

/** Whether an error has this code because the replicas made different calls. */
export function isMismatch(code: ErrorCode | undefined): boolean {
  return code !== undefined && mismatches.includes(code);
}

const mismatches: readonly ErrorCode[] = ['ERR_COLL_MISMATCH', 'ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH'];

function create({ name, message, fields }: EncodedPart): Error {
  const isOurs = String(fields['code']).startsWith('ERR_COLL_');
  if (isOurs && name === 'TypeError') return new core.WrongTypeError(message, fields);
  if (isOurs && name === 'RangeError') return new core.OutOfRangeError(message, fields);
  if (isOurs) return new (errorClass(name))(fields['code'] as ErrorCode, message, fields);
  if (name === 'AggregateError') return new AggregateError([], message);
  const builtIn = { TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError }[name] ?? Error;
  return new builtIn(message);
}

/** A field that should be a text, but may be anything in an error of a user. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : quote(value);
}

function errorClass(name: string): typeof CollError {
  const ours = (core as Record<string, unknown>)[name];
  const isErrorClass = typeof ours === 'function' && ours.prototype instanceof CollError;
  return isErrorClass ? (ours as typeof CollError) : CollError;
}

function isField(value: unknown): value is Field {
  return isPlain(value) || (Array.isArray(value) && value.every(isPlain));
}

function isPlain(value: unknown): value is Plain {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof value);
}
