import { RuntimeError, ValueError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { annotate, ofVariable } from './replica-error.js';

describe('annotate', () => {
  it('adds the replica number to the error once', () => {
    const error = new RangeError('too far');
    expect(annotate(error, 3)).toBe(error);
    expect(annotate(error, 4)).toBe(error);
    expect(error).toMatchObject({ message: 'replica 3: too far', rank: 3 });
    expect(error.stack).toMatch(/^RangeError: replica 3: too far\n/);
    expect(Object.getOwnPropertyDescriptor(error, 'stack')).toMatchObject({ configurable: true, writable: true });
    expect(ofVariable(error, 'w')).toBe(error);
    expect(error.stack).toMatch(/^RangeError: variable "w": replica 3: too far\n/);
    error.message = 'replica 3: too far';
  });

  it('keeps an existing rank', () => {
    const error = new ValueError('ERR_COLL_VALUE', 'not this', { rank: 1 });
    expect(annotate(error, 0)).toMatchObject({ message: 'replica 0: not this', rank: 1 });
    expect(annotate(new ValueError('ERR_COLL_VALUE', 'not this'), 2)).toMatchObject({ rank: 2 });
  });

  it('does not change messages that already name the replica', () => {
    const error = new Error("$& and $' and $1");
    annotate(error, 0);
    expect(error.stack).toContain("Error: replica 0: $& and $' and $1\n");
    expect(annotate(new Error(''), 1).message).toBe('replica 1: ');
    expect(annotate(Object.assign(new Error('x'), { stack: undefined }), 1).message).toBe('replica 1: x');
  });

  it.each([
    ['frozen', Object.freeze(new Error('ice'))],
    ['sealed', Object.seal(new Error('wax'))],
    ['a DOMException', new DOMException('stop', 'AbortError')],
    [
      'an error with a getter',
      new (class extends Error {
        override get message() {
          return 'computed';
        }
      })(),
    ],
  ])('wraps an error that cannot be modified: %s', (_, error) => {
    const { message } = error;
    const annotated = annotate(error, 5);
    expect(annotated).toBeInstanceOf(RuntimeError);
    expect(annotated).toMatchObject({ code: 'ERR_COLL_REPLICA', message: `replica 5: ${message}`, rank: 5 });
    expect(annotated.cause).toBe(error);
    expect(error.message).toBe(message);
  });

  it('wraps an error without a message', () => {
    const bare = Object.setPrototypeOf(new Error(), null);
    expect(annotate(bare, 2)).toMatchObject({ name: 'RuntimeError', rank: 2, cause: bare });
    const odd = Object.create(Object.create(null, { [Symbol.hasInstance]: { value: true } }));
    expect(ofVariable(odd, 'w')).toBe(odd);
  });

  it('keeps the stack of an error without a message', () => {
    const error = new Error('');
    const { stack } = error;
    annotate(error, 1);
    expect(error.stack).toBe(stack);
  });

  it('prefixes the name of a variable to the message of errors that can be modified', () => {
    expect(ofVariable(new RangeError('too far'), 'w')).toMatchObject({ message: 'variable "w": too far' });
    const frozen = Object.freeze(new Error('ice'));
    expect(ofVariable(frozen, 'w')).toBe(frozen);
    expect(ofVariable({ message: 'plain' }, 'w')).toEqual({ message: 'plain' });
    expect(ofVariable('text', 'w')).toBe('text');
    expect(ofVariable(undefined, 'w')).toBeUndefined();
  });

  it.each(['text', 5, undefined, null, Symbol('odd')])('wraps a thrown value that is not an error: %s', (thrown) => {
    expect(annotate(thrown, 0)).toMatchObject({ name: 'RuntimeError', message: `replica 0: ${String(thrown)}` });
    expect(annotate(thrown, 0).cause).toBe(thrown);
  });
});
