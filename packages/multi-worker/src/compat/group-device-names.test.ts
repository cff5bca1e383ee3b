import { ValueError } from '@coll/core';
import { expect, it } from 'vitest';
import { groupDeviceNames } from './group-device-names.js';

it('groupDeviceNames assigns names to groups in rotation, and repeats names to fill the last group', () => {
  expect(groupDeviceNames(['a', 'b', 'c', 'd', 'e'], 3)).toEqual([
    ['a', 'c', 'e'],
    ['b', 'd', 'a'],
  ]);
  expect(groupDeviceNames([0, 1, 2, 3], 2)).toEqual([
    [0, 2],
    [1, 3],
  ]);
  expect(groupDeviceNames([0, 1, 2], 1)).toEqual([[0], [1], [2]]);
  expect(groupDeviceNames([0, 1, 2], 3)).toEqual([[0, 1, 2]]);
});

it('groupDeviceNames refuses groups that are too large or empty', () => {
  expect(() => groupDeviceNames(['a'], 2)).toThrow('only 1 devices, but group_size=2');
  expect(() => groupDeviceNames(['a'], 2)).toThrow(ValueError);
  for (const size of [0, -1, 1.5, Number.NaN]) expect(() => groupDeviceNames(['a', 'b'], size)).toThrow(ValueError);
});
