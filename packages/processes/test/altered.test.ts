import { expect, it } from 'vitest';
import { alterBit } from './altered/alter-bit.ts';

it('one changed bit on an encrypted connection is an error on both ranks, or changes nothing', async () => {
  // All at once, because some wait for bytes that never come.
  const alterations = await Promise.all(Array.from({ length: 30 }, (_, seed) => alterBit(seed)));
  expect(alterations.flatMap(({ problems }) => problems)).toEqual([]);
  // Some bits are never reached, some belong to a handshake that is made again, and on a slow machine
  // some are changed while one rank has all its results and closes its group.
  const failed = alterations.filter(({ outcome }) => outcome === 'error on both ranks');
  expect(failed.length).toBeGreaterThan(15);
});
