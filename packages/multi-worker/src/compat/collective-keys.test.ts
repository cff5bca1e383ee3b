import { ValueError } from '@coll/core';
import { expect, it } from 'vitest';
import { CollectiveKeys } from './collective-keys.js';

it('CollectiveKeys numbers groups in the order of their first use', () => {
  const keys = new CollectiveKeys();
  expect(keys.getGroupKey(['a', 'b'])).toBe(1);
  expect(keys.getGroupKey(['b', 'a'])).toBe(2);
  expect(keys.getGroupKey(['a', 'b'])).toBe(1);
  expect(new CollectiveKeys(7).getGroupKey(['a'])).toBe(7);
});

it('CollectiveKeys counts the collectives of each device of a group from 100', () => {
  const keys = new CollectiveKeys();
  const [pair, single] = [keys.getGroupKey(['a', 'b']), keys.getGroupKey(['a'])];
  expect([0, 1, 2].map(() => keys.getInstanceKey(pair, 'a'))).toEqual([100, 101, 102]);
  expect(keys.getInstanceKey(pair, 'b')).toBe(100);
  expect(keys.getInstanceKey(single, 'a')).toBe(100);
});

it('CollectiveKeys refuses unknown groups and devices', () => {
  const keys = new CollectiveKeys();
  const key = keys.getGroupKey(['a']);
  expect(() => keys.getInstanceKey(key + 1, 'a')).toThrow(ValueError);
  expect(() => keys.getInstanceKey(key, 'b')).toThrow(/device "b" is not in group 1/);
  expect(() => new CollectiveKeys(0.5)).toThrow(ValueError);
  expect(() => keys.getGroupKey('cpu:0' as never)).toThrow(/a group must be a list of devices, got "cpu:0"/);
});

it('a copy of CollectiveKeys continues independently of the original', () => {
  const keys = new CollectiveKeys(3);
  const key = keys.getGroupKey(['a']);
  keys.getInstanceKey(key, 'a');
  const copy = keys.copy();
  expect([copy.getInstanceKey(key, 'a'), copy.getInstanceKey(key, 'a')]).toEqual([101, 102]);
  expect(keys.getInstanceKey(key, 'a')).toBe(101);
  expect(copy.getGroupKey(['b'])).toBe(4);
});
