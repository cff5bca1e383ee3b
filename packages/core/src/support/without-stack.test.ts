import { expect, it } from 'vitest';
import { hasStack, withoutStack } from './without-stack.js';

it('withoutStack makes an error without frames, and later errors have frames', () => {
  expect(hasStack(withoutStack(() => new Error('a message')))).toBe(false);
  expect(hasStack(new Error('a message\n of two lines'))).toBe(true);
});

it('withoutStack restores the limit if the error cannot be made', () => {
  const make = () => {
    throw new RangeError('no error');
  };
  expect(() => withoutStack(make)).toThrow(RangeError);
  expect(hasStack(new Error('a message'))).toBe(true);
});
