import { describe, expect, it, vi } from 'vitest';
import { OutOfRangeError, WrongTypeError } from './built-in-errors.js';
import {
  AbortedError,
  AssertionError,
  CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  KeyError,
  NotImplementedError,
  RuntimeError,
  UnavailableError,
  ValueError,
} from './errors.js';

const subclasses = [
  AbortedError,
  AssertionError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  KeyError,
  NotImplementedError,
  RuntimeError,
  UnavailableError,
  ValueError,
];

const cause = new Error('below');
const details = { cause, rank: 2, operation: 'all-reduce' };

describe.each([CollError, ...subclasses].map((Class) => [Class.name, Class] as const))('error class %s', (_, Class) => {
  it('carries name, code, message, cause, rank and operation', () => {
    const error = new Class('ERR_COLL_VALUE', 'what happened', details);
    expect(error).toBeInstanceOf(Error);
    expect({ ...error }).toMatchObject({ code: 'ERR_COLL_VALUE', rank: 2, operation: 'all-reduce' });
    expect([error.name, error.message, error.cause]).toEqual([Class.name, 'what happened', cause]);
    expect(`${error}`).toBe(`${Class.name}: what happened`);
  });

  it('has no cause, rank or operation if none was given', () => {
    const error = new Class('ERR_COLL_VALUE', 'what happened');
    expect([error.cause, error.rank, error.operation]).toEqual([undefined, undefined, undefined]);
    expect('cause' in error).toBe(false);
  });

  it('keeps rank 0', () => {
    expect(new Class('ERR_COLL_VALUE', '', { rank: 0 }).rank).toBe(0);
  });
});

it('instanceof recognises an error as a CollError and as its own class, but as no other class', () => {
  for (const Class of subclasses) {
    const error = new Class('ERR_COLL_VALUE', '');
    expect(error).toBeInstanceOf(CollError);
    expect(subclasses.filter((other) => error instanceof other)).toEqual([Class]);
  }
});

describe.each([
  ['WrongTypeError', WrongTypeError, TypeError, 'ERR_COLL_TYPE'],
  ['OutOfRangeError', OutOfRangeError, RangeError, 'ERR_COLL_RANGE'],
] as const)('error class %s', (_, Class, BuiltIn, code) => {
  it('is an instance of the corresponding built-in class and has the name of that class', () => {
    const error = new Class('what happened');
    expect(error).toBeInstanceOf(BuiltIn);
    expect(error).toBeInstanceOf(CollError);
    expect(error).not.toBeInstanceOf(ValueError);
    expect([error.name, error.code, error.message]).toEqual([BuiltIn.name, code, 'what happened']);
  });

  it('carries cause, rank and operation', () => {
    expect(new Class('what happened', details)).toMatchObject(details);
    expect('cause' in new Class('')).toBe(false);
  });
});

it('instanceof CollError is false for other errors and other values', () => {
  const others = [new Error('x'), new TypeError('x'), { code: 'ERR_COLL_VALUE' }, undefined, null, 'ERR_COLL_VALUE'];
  expect(others.filter((other) => other instanceof CollError)).toEqual([]);
});

it('instanceof CollError recognises errors of a separately installed copy of the library', async () => {
  vi.resetModules();
  const other = await import('./errors.js');
  const builtIn = await import('./built-in-errors.js');
  expect(other.CollError).not.toBe(CollError);
  for (const error of [new other.ValueError('ERR_COLL_VALUE', ''), new builtIn.WrongTypeError('')]) {
    expect(error).toBeInstanceOf(CollError);
    expect(error).not.toBeInstanceOf(ValueError);
  }
});
