import { describe, expect, it } from 'vitest';
import { otherFramework, record, summary, weightsAreIdentical } from './summary.ts';

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
    const table = summary({ single, results: [resultOf(1), resultOf(1)], replicas: 2 });
    expect(table).toMatch(/test accuracy .* 97\.5 %/);
    expect(table).toMatch(/one process .* 2 replicas/);
    expect(table).toMatch(/samples per second .* 1,000 .* 1,500/);
    expect(table).toMatch(/speed-up .* 1\.50 x/);
    expect(table).toMatch(/exchange, of a step .* 1\.0 %/);
    expect(table).toMatch(/waiting, of a step .* 4\.0 %/);
    expect(table).toMatch(/\na step takes 100 ms$/);
  });

  it('contains no speed-up for a run with one replica only', () => {
    expect(summary({ single: undefined, results: [resultOf(1)], replicas: 1 })).not.toContain('speed-up');
  });

  it('has one line for the same model in another framework', () => {
    const other = { framework: 'tfjs', replicas: 2 } as const;
    expect(otherFramework(other, { ...resultOf(1), samplesPerSecond: 700 }, resultOf(1))).toBe(
      'the same model in tfjs: 700 samples per second in one process, 1,500 with 2 replicas',
    );
  });

  it('is a record for programs', () => {
    const runs = { single: { ...resultOf(1), samplesPerSecond: 1000 }, results: [resultOf(1, 2)], replicas: 2 };
    const outcome = { identical: true, warning: undefined };
    expect(record({ framework: 'jax-js', batchSize: 64 }, runs, outcome)).toEqual({
      framework: 'jax-js',
      batchSize: 64,
      replicas: 2,
      parameters: 2,
      accuracy: 0.975,
      samplesPerSecond: 1500,
      samplesPerSecondOfOne: 1000,
      waiting: 0.04,
      exchange: 0.01,
      identical: true,
    });
  });
});
