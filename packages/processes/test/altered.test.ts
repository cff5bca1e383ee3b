import { expect, it } from 'vitest';
import { alterBit } from './altered/alter-bit.ts';

it('one changed bit on an encrypted connection is an error on both ranks, or changes nothing', async () => {
  // All at once, because some wait for bytes that never come.
  const alterations = await Promise.all(Array.from({ length: 30 }, (_, seed) => alterBit(seed)));
  const isWrong = (problems: readonly string[], outcome: string) =>
    problems.length > 0 || outcome === 'error on one rank';
  expect(alterations.filter(({ problems, outcome }) => isWrong(problems, outcome))).toEqual([]);
});
