import { describe, expect, it } from 'vitest';
import { summary, weightsAreIdentical } from './summary.ts';

const resultOf = (...weights: readonly number[]) => ({
  weights: Float32Array.from(weights),
  samplesPerSecond: 1500,
  allReduceShare: 0.04,
  accuracy: 0.975,
});

describe('weights', () => {
  it('are identical if every bit is', () => {
    expect(weightsAreIdentical([resultOf(1, Number.NaN), resultOf(1, Number.NaN), resultOf(1, Number.NaN)])).toBe(true);
    expect(weightsAreIdentical([resultOf(1)])).toBe(true);
  });

  it('are different if a bit of one replica differs, even the sign of a zero', () => {
    expect(weightsAreIdentical([resultOf(1, 0), resultOf(1, 0), resultOf(1, -0)])).toBe(false);
    expect(weightsAreIdentical([resultOf(1, 0), resultOf(1)])).toBe(false);
  });
});

describe('the summary', () => {
  it('compares the replicas with a single one', () => {
    const single = { ...resultOf(1), samplesPerSecond: 1000 };
    const table = summary(single, [resultOf(1), { ...resultOf(1), allReduceShare: 0.06 }]);
    expect(table).toMatch(/test accuracy .* 97\.5 %/);
    expect(table).toMatch(/one replica .* 1,000 samples\/s/);
    expect(table).toMatch(/2 replicas .* 1,500 samples\/s/);
    expect(table).toMatch(/speed-up .* 1\.50 x/);
    expect(table).toMatch(/all-reduce, of a step .* 5\.0 %/);
  });

  it('has nothing to compare for one replica', () => {
    expect(summary(undefined, [resultOf(1)])).not.toContain('speed-up');
  });
});
