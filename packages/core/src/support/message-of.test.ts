import { expect, it } from 'vitest';
import { messageOf } from './message-of.js';

const throwing = {
  toString() {
    throw new Error('no words');
  },
};

it.each([
  [new RangeError('out of memory'), 'out of memory'],
  ['enough', 'enough'],
  [7, '7'],
  [undefined, 'undefined'],
  [null, 'null'],
  [Symbol('stop'), 'Symbol(stop)'],
  [Object.create(null), 'an object (no prototype)'],
  [throwing, 'an object (Object)'],
  [Object.assign(new Error(), { message: Object.create(null) }), 'an object (Error)'],
])('messageOf returns a text for any thrown value', (thrown, words) => {
  expect(messageOf(thrown)).toBe(words);
});
