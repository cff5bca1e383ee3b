import { describe, expect, it } from 'vitest';
import { loadWarning } from './load.ts';

describe('the warning of other programs', () => {
  const before = { busy: 1000, idle: 500, own: 300 };

  it('is absent if this program alone used the cores', () => {
    expect(loadWarning(before, { busy: 2900, idle: 600, own: 2150 }, 2)).toBeUndefined();
  });

  it('says which part of the cores others used', () => {
    expect(loadWarning(before, { busy: 3000, idle: 500, own: 1300 }, 2)).toMatch(
      /^other programs used 50 % of the 2 cores \(load \d+\): the speed-up says nothing$/,
    );
  });

  it('is absent for no time at all', () => {
    expect(loadWarning(before, before)).toBeUndefined();
  });
});
