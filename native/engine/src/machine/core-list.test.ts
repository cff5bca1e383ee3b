import { expect, it } from 'vitest';
import { coresIn, isCoreList, listOf } from './core-list.js';

it('coresIn returns the numbers of a list, and listOf the list of numbers', () => {
  expect(coresIn('0-2,8,10-11')).toEqual([0, 1, 2, 8, 10, 11]);
  expect(coresIn('')).toEqual([]);
  expect(listOf([11, 8, 0, 1, 10, 2])).toBe('0-2,8,10-11');
  expect(listOf([])).toBe('');
});

it('isCoreList refuses lists that cannot exist', () => {
  for (const list of ['', '3', '0-8191', '1,3-5']) expect(isCoreList(list), list).toBe(true);
  for (const list of ['0-', '3-1', '0-99999', '0-8191,0', 'x', '0 ']) expect(isCoreList(list), list).toBe(false);
});
