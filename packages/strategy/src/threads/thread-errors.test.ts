import * as core from '@coll/core';
import { CollError, RuntimeError, UnavailableError } from '@coll/core';
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
    const error = new errorClass('ERR_COLL_VALUE', 'no memory', { rank: 2, operation: 'reduce', cause: 'why' });
    const arrived = posted(error);
    expect(arrived.constructor).toBe(errorClass);
    expect(arrived).toMatchObject({
      name: error.name,
      code: 'ERR_COLL_VALUE',
      rank: 2,
      operation: 'reduce',
      cause: 'why',
    });
    expect([arrived.message, arrived.stack]).toEqual(['no memory', error.stack]);
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
      const arrived = posted(new errorClass('no memory'));
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
    expect(Object.hasOwn(posted(new RangeError('no memory')), 'name')).toBe(false);
    const odd = posted(Object.assign(new Error('no memory'), { name: 'OddError' }));
    const descriptor = { value: 'OddError', configurable: true, writable: true, enumerable: false };
    expect(Object.getOwnPropertyDescriptor(odd, 'name')).toEqual(descriptor);
    const [encoded] = encodeError(
      Object.assign(new Error('no memory'), { name: 'OddError', tries: 5n, at: new Date(0) }),
    );
    expect(encoded?.fields).toEqual({ tries: 5n });
  });

  it('without a stack gets the stack of the receiving thread', () => {
    expect(posted(Object.assign(new Error('no memory'), { stack: undefined })).stack).toMatch(/^Error: no memory\n/);
  });

  it('of a class that a plug-in derived is still a CollError', () => {
    class FabricError extends RuntimeError {}
    const arrived = posted(new FabricError('ERR_COLL_REPLICA', 'cut', { rank: 3 }));
    expect(arrived).toBeInstanceOf(CollError);
    expect(arrived).toMatchObject({ name: 'FabricError', code: 'ERR_COLL_REPLICA', rank: 3 });
  });

  it('keeps all ranks that it names', () => {
    const lost = new UnavailableError('ERR_COLL_PEER_FAILED', 'lost', { rank: 1, ranks: [1, 3], wholeRanks: [5, 7] });
    expect(posted(lost)).toMatchObject({ rank: 1, ranks: [1, 3], wholeRanks: [5, 7] });
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
    expect(arrived.cause).toBe(thrown === null ? 'null' : thrown);
  });

  it('may be its own cause, also through other errors', () => {
    const [outer, inner] = [new Error('outer'), new TypeError('inner')];
    Object.assign(outer, { cause: inner });
    Object.assign(inner, { cause: outer });
    const arrived = posted(outer);
    expect(arrived).toMatchObject({ message: 'outer', cause: expect.any(TypeError) });
    expect((arrived.cause as Error).cause).toBe(arrived);
    const own = new Error('own');
    own.cause = own;
    expect(posted(own).cause).toHaveProperty('message', 'own');
  });

  it('may have a chain of causes of any length', () => {
    let error = new Error('0');
    for (let number = 1; number <= 20_000; number++) error = new Error(String(number), { cause: error });
    let arrived: unknown = posted(error);
    for (let number = 20_000; number > 0; number--) {
      expect((arrived as Error).message === String(number)).toBe(true);
      arrived = (arrived as Error).cause;
    }
    expect(arrived).toMatchObject({ message: '0' });
  });

  it('keeps the errors of an AggregateError', () => {
    const inner = new core.ValueError('ERR_COLL_VALUE', 'inner', { rank: 1 });
    const error = new AggregateError([inner, new AggregateError(['text', inner], 'deep'), { odd: 1 }], 'all failed');
    const arrived = posted(error) as unknown as AggregateError;
    expect(arrived).toBeInstanceOf(AggregateError);
    expect(arrived.message).toBe('all failed');
    const [first, second, third] = arrived.errors;
    expect(first).toMatchObject({ name: 'ValueError', message: 'inner', rank: 1 });
    expect(second).toMatchObject({ message: 'deep', errors: ['text', { message: 'inner' }] });
    expect(second.errors[1]).toBe(first);
    expect(third).toBe('an object (Object)');
  });

  it('keeps the errors in its fields, such as those of a SuppressedError', () => {
    const error = Object.assign(new Error('both'), { name: 'SuppressedError', reason: new RangeError('why') });
    for (const key of ['error', 'suppressed']) Object.defineProperty(error, key, { value: new TypeError(key) });
    const arrived = posted(error);
    const fields = { error: { message: 'error' }, suppressed: { message: 'suppressed' }, reason: { message: 'why' } };
    expect(arrived).toMatchObject(fields);
    expect(arrived['reason']).toBeInstanceOf(RangeError);
  });

  it('may have a message, name and stack that are no texts', () => {
    const error = Object.assign(new Error(), { message: () => 1, name: Symbol('odd'), stack: 5 });
    expect(posted(error)).toMatchObject({ message: expect.any(String), name: expect.any(String), stack: '5' });
  });
});
