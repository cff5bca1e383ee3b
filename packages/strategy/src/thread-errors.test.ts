import * as core from '@coll/core';
import { CollError, RuntimeError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { decodeError, encodeError } from './thread-errors.js';

/** The error as it arrives in another thread. */
function posted(error: unknown): Error & Record<string, unknown> {
  return decodeError(structuredClone(encodeError(error))) as Error & Record<string, unknown>;
}

const classes = Object.values(core).filter(
  (value) => typeof value === 'function' && (value === CollError || Object.getPrototypeOf(value) === CollError),
) as (typeof CollError)[];

describe('an error posted between threads', () => {
  it.each(classes)('keeps its class: $name', (errorClass) => {
    const error = new errorClass('ERR_COLL_VALUE', 'told', { rank: 2, operation: 'reduce', cause: 'why' });
    const arrived = posted(error);
    expect(arrived.constructor).toBe(errorClass);
    expect(arrived).toMatchObject({
      name: error.name,
      code: 'ERR_COLL_VALUE',
      rank: 2,
      operation: 'reduce',
      cause: 'why',
    });
    expect([arrived.message, arrived.stack]).toEqual(['told', error.stack]);
  });

  it('has one of the tested classes', () => {
    expect(classes.length).toBeGreaterThan(10);
  });

  it.each([
    [new core.WrongTypeError('a type'), core.WrongTypeError, TypeError],
    [new core.OutOfRangeError('a range'), core.OutOfRangeError, RangeError],
  ])('keeps its built-in class: %s', (error, ours, theirs) => {
    const arrived = posted(Object.assign(error, { rank: 1, cause: 5 }));
    expect(arrived.cause).toBe(5);
    expect(arrived).toBeInstanceOf(ours);
    expect(arrived).toBeInstanceOf(theirs);
    expect(arrived).toBeInstanceOf(CollError);
    expect(arrived).toMatchObject({ code: error.code, message: error.message, rank: 1 });
  });

  it.each([TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, Error])(
    'keeps its class: %o',
    (errorClass) => {
      const arrived = posted(new errorClass('told'));
      expect(arrived.constructor).toBe(errorClass);
      expect(arrived).not.toHaveProperty('code');
      expect(arrived).not.toHaveProperty('cause');
    },
  );

  it('of an unknown class keeps its name and its plain fields', () => {
    class HttpError extends Error {
      override name = 'HttpError';
      status = 404;
      code = 'ENOENT';
      retry = false;
      response = { body: 'not plain' };
    }
    const arrived = posted(new HttpError('gone'));
    expect(arrived).toMatchObject({ name: 'HttpError', message: 'gone', status: 404, code: 'ENOENT', retry: false });
    expect(arrived).not.toHaveProperty('response');
    expect(String(arrived)).toBe('HttpError: gone');
  });

  it('has an own name property only if its class does not provide the name', () => {
    expect(Object.hasOwn(posted(new RangeError('told')), 'name')).toBe(false);
    const odd = posted(Object.assign(new Error('told'), { name: 'OddError' }));
    const descriptor = { value: 'OddError', configurable: true, writable: true, enumerable: false };
    expect(Object.getOwnPropertyDescriptor(odd, 'name')).toEqual(descriptor);
    const encoded = encodeError(Object.assign(new Error('told'), { name: 'OddError', tries: 5n, at: new Date(0) }));
    expect(encoded.fields).toEqual({ tries: 5n });
  });

  it('without a stack gets the stack of the receiving thread', () => {
    expect(posted(Object.assign(new Error('told'), { stack: undefined })).stack).toMatch(/^Error: told\n/);
  });

  it('of a class that a plug-in derived is still a CollError', () => {
    class FabricError extends RuntimeError {}
    const arrived = posted(new FabricError('ERR_COLL_REPLICA', 'cut', { rank: 3 }));
    expect(arrived).toBeInstanceOf(CollError);
    expect(arrived).toMatchObject({ name: 'FabricError', code: 'ERR_COLL_REPLICA', rank: 3 });
  });

  it('keeps its chain of causes with their classes', () => {
    const inner = new core.ValueError('ERR_COLL_VALUE', 'inner', { cause: 5 });
    const arrived = posted(new TypeError('outer', { cause: inner }));
    expect(arrived.cause).toBeInstanceOf(core.ValueError);
    expect(arrived.cause).toMatchObject({ message: 'inner', cause: 5 });
    expect(posted(new Error('odd', { cause: { deep: true } })).cause).toBe('an object (Object)');
  });

  it.each(['text', 0, undefined, null])('may be any other value: %j', (thrown) => {
    const arrived = posted(thrown);
    expect(arrived).toBeInstanceOf(RuntimeError);
    expect(arrived).toMatchObject({ code: 'ERR_COLL_REPLICA', message: String(thrown) });
    expect(encodeError(thrown).cause).toEqual(
      thrown === undefined ? undefined : { value: thrown === null ? 'null' : thrown },
    );
  });
});
