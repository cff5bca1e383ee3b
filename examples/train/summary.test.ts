import { describe, expect, it } from 'vitest';
import { summary, weightsAreIdentical } from './summary.ts';

const resultOf = (...weights: readonly number[]) => ({
  weights: Float32Array.from(weights),
  samplesPerSecond: 1500,
  summary: {
    steps: 10,
    samples: 2560,
    seconds: 1,
    exchange: 0.01,
    waiting: 0.04,
    slowest: 0,
    slowestBy: 0,
    verdict: 'a step takes 100 ms',
  },
  accuracy: 0.975,
});

describe('weights', () => {
  it('are identical if all their bits are equal', () => {
    expect(weightsAreIdentical([resultOf(1, Number.NaN), resultOf(1, Number.NaN), resultOf(1, Number.NaN)])).toBe(true);
    expect(weightsAreIdentical([resultOf(1)])).toBe(true);
  });

  it('are different if any bit differs on one replica, even the sign of a zero', () => {
    expect(weightsAreIdentical([resultOf(1, 0), resultOf(1, 0), resultOf(1, -0)])).toBe(false);
    expect(weightsAreIdentical([resultOf(1, 0), resultOf(1)])).toBe(false);
  });
});

describe('the summary', () => {
  it('compares the speed of several replicas with that of a single replica', () => {
    const single = { ...resultOf(1), samplesPerSecond: 1000 };
    const table = summary(single, [resultOf(1), resultOf(1)]);
    expect(table).toMatch(/test accuracy .* 97\.5 %/);
    expect(table).toMatch(/one replica .* 1,000 samples\/s/);
    expect(table).toMatch(/2 replicas .* 1,500 samples\/s/);
    expect(table).toMatch(/speed-up .* 1\.50 x/);
    expect(table).toMatch(/exchange, of a step .* 1\.0 %/);
    expect(table).toMatch(/waiting, of a step .* 4\.0 %/);
    expect(table).toMatch(/\na step takes 100 ms$/);
  });

  it('contains no speed-up for a run with one replica only', () => {
    expect(summary(undefined, [resultOf(1)])).not.toContain('speed-up');
  });
});
