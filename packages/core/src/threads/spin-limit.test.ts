import { describe, expect, it } from 'vitest';
import { SpinLimit } from './spin-limit.js';

/** The most missing ranks for which a rank polls, among `ranks`. */
function mostOf(limit: SpinLimit, ranks: number): number {
  return Array.from({ length: ranks }, (_, missing) => missing).filter((missing) => limit.allows(missing)).length - 1;
}

function pollInVain(limit: SpinLimit, missing: number, times: number): void {
  for (let time = 0; time < times; time++) {
    expect(limit.allows(missing)).toBe(true);
    limit.learn(missing, false);
  }
}

function poll(limit: SpinLimit, missing: number, times: number): void {
  for (let time = 0; time < times; time++) if (limit.allows(missing)) limit.learn(missing, true);
}

describe('a spin limit', () => {
  it('allows polls for all other ranks at first', () => {
    expect(mostOf(new SpinLimit(4), 4)).toBe(3);
  });

  it('allows polls for fewer ranks after eight polls in vain', () => {
    const limit = new SpinLimit(4);
    pollInVain(limit, 3, 7);
    expect(mostOf(limit, 4)).toBe(3);
    pollInVain(limit, 3, 1);
    expect(mostOf(limit, 4)).toBe(2);
    pollInVain(limit, 2, 8);
    expect(mostOf(limit, 4)).toBe(1);
  });

  it('forgets a poll in vain after four polls for as many ranks that succeed', () => {
    const limit = new SpinLimit(3);
    for (let round = 0; round < 20; round++) {
      pollInVain(limit, 2, 1);
      poll(limit, 2, 4);
    }
    expect(mostOf(limit, 3)).toBe(2);
    for (let round = 0; round < 20 && limit.allows(2); round++) {
      limit.learn(2, false);
      poll(limit, 2, 1);
    }
    expect(mostOf(limit, 3)).toBe(1);
  });

  it('keeps its limit for many ranks although polls for fewer ranks succeed', () => {
    const limit = new SpinLimit(3);
    for (let round = 0; round < 8; round++) {
      pollInVain(limit, 2, 1);
      poll(limit, 1, 10);
    }
    expect(mostOf(limit, 3)).toBe(1);
  });

  it.each([true, false])('tries one more rank now and then, and allows it if it arrived: %s', (haveArrived) => {
    const limit = new SpinLimit(2);
    pollInVain(limit, 1, 8);
    const tries = Array.from({ length: 128 }, () => {
      const isTried = limit.allows(1);
      if (isTried) limit.learn(1, haveArrived);
      return isTried;
    });
    expect(tries.indexOf(true)).toBe(63);
    expect(tries.filter((isTried) => isTried)).toHaveLength(haveArrived ? 65 : 2);
  });
});
