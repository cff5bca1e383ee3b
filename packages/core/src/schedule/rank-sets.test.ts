import { describe, expect, it } from 'vitest';
import { RankSets } from './rank-sets.js';

// Sets that fill no word, one word, and several words with and without a rest.
describe.each([1, 31, 32, 33, 64, 100])('sets of %i ranks', (ranks) => {
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  const last = ranks - 1;
  const sets = new RankSets(ranks);

  it('are whole only with every rank', () => {
    sets.clear(0);
    expect([sets.isEmpty(0), sets.isWhole(0)]).toEqual([true, false]);
    expect(sets.missing(0)).toEqual(everyone);
    for (const rank of everyone.slice(0, -1)) sets.add(0, rank);
    expect([sets.isWhole(0), sets.missing(0)]).toEqual([false, [last]]);
    sets.add(0, last);
    expect([sets.isEmpty(0), sets.isWhole(0), sets.missing(0)]).toEqual([false, true, []]);
  });

  it.skipIf(ranks === 1)('compare and join their members', () => {
    for (const set of [0, last]) sets.clear(set);
    sets.add(0, last);
    expect([sets.overlap(0, last), sets.areEqual(0, last), sets.common(0, last)]).toEqual([false, false, []]);
    sets.add(last, 0);
    sets.addAll(last, 0);
    expect([sets.overlap(0, last), sets.areEqual(0, last), sets.common(0, last)]).toEqual([true, false, [last]]);
    sets.addAll(0, last);
    expect([sets.areEqual(0, last), sets.common(0, last)]).toEqual([true, [0, last]]);
  });
});
