import { expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { requireProcessGroup } from './process-group.js';

const nothing = () => {};
const group = { communicator: nothing, fail: nothing, rank: 0, size: 2 };

it('requireProcessGroup accepts a process group and undefined', () => {
  expect(() => requireProcessGroup(group)).not.toThrow();
  expect(() => requireProcessGroup(undefined)).not.toThrow();
});

it.each([
  ['null', null],
  ['the promise of a group', Promise.resolve(group)],
  ['an object without communicator()', { ...group, communicator: undefined }],
  ['an object without fail()', { ...group, fail: undefined }],
  ['a rank that is not a whole number', { ...group, rank: 0.5 }],
  ['a size that is not a number', { ...group, size: '2' }],
])('requireProcessGroup refuses %s', (_, wrong) => {
  expect(thrown(() => requireProcessGroup(wrong))).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_VALUE',
    message: expect.stringMatching(/^group must be a process group/),
  });
});
