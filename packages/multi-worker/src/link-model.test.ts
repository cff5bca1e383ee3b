import type { Collective } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { binaryTreeAlgorithm } from './binary-tree-algorithm.js';
import { fit, type LinkModel, modelFrom, modelLength, numbersOf, predict } from './link-model.js';
import { ranksPerHost } from './link-probe.js';
import { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';

const slow: LinkModel = { start: 4e-6, gamma: 3e-10, across: { alpha: 3e-5, beta: 9e-10, overhead: 7e-6 } };
const twoKinds: LinkModel = {
  start: 2e-6,
  gamma: 2e-10,
  across: { alpha: 5e-5, beta: 2e-9, overhead: 5e-6 },
  within: { ranksPerWorker: 4, alpha: 1e-6, beta: 1e-10, overhead: 4e-7 },
};

const algorithms = [ringAlgorithm(), directAlgorithm(), recursiveHalvingDoublingAlgorithm(), binaryTreeAlgorithm()];
const asked: readonly (readonly [Collective, number])[] = [
  [{ kind: 'all-gather' }, 64],
  [{ kind: 'all-gather' }, 1 << 13],
  [{ kind: 'all-reduce', op: 'sum' }, 1 << 17],
  [{ kind: 'all-gather' }, 1 << 17],
  [{ kind: 'all-reduce', op: 'sum' }, 1 << 20],
];

function trialsAmong(ranks: number) {
  return algorithms.flatMap((algorithm) =>
    asked.map(([collective, bytes]) => ({
      kind: collective.kind,
      schedule: algorithm.plan(collective, ranks),
      bytes,
    })),
  );
}

describe.each([
  ['one kind of links', slow, 8],
  ['one kind of links among two', slow, 2],
  ['links within hosts and between them', twoKinds, 8],
] as const)('a cost model for %s', (_, model, ranks) => {
  const perHost = model.within?.ranksPerWorker;

  it('predicts the measured times of the collectives that it was fitted to', () => {
    const trials = trialsAmong(ranks);
    const found = fit(
      trials.map((trial) => ({ ...trial, seconds: predict(model, trial) })),
      perHost,
    );
    for (const trial of trials) expect(predict(found, trial) / predict(model, trial)).toBeCloseTo(1, 1);
  });

  it('is close to the true costs despite noisy measurements, and never negative', () => {
    const trials = trialsAmong(ranks);
    const noise = (index: number) => 1 + 0.2 * Math.sin(index * 12.9898);
    const found = fit(
      trials.map((trial, index) => ({ ...trial, seconds: noise(index) * predict(model, trial) })),
      perHost,
    );
    const ratios = trials.map((trial) => predict(found, trial) / predict(model, trial));
    expect(Math.min(...ratios)).toBeGreaterThan(0.6);
    expect(Math.max(...ratios)).toBeLessThan(1.6);
    expect(numbersOf(found).every((number) => number >= 0)).toBe(true);
  });

  it('can be converted to a list of numbers and back', () => {
    expect(numbersOf(model)).toHaveLength(modelLength);
    expect(modelFrom(numbersOf(model))).toEqual(model);
  });
});

describe('fit', () => {
  it('hardly changes the model for a few samples that took twice as long', () => {
    const samples = trialsAmong(8).map((trial, index) => {
      const seconds = predict(slow, trial);
      return { ...trial, seconds: index % 7 === 3 ? 2 * seconds : seconds };
    });
    const found = fit(samples);
    for (const trial of trialsAmong(8)) expect(predict(found, trial) / predict(slow, trial)).toBeCloseTo(1, 1);
  });
});

describe('ranksPerHost', () => {
  const link = (rank: number, isNear: boolean) => ({
    rank,
    transport: isNear ? ('shared-memory' as const) : ('tcp' as const),
    reason: '',
  });
  const groupOf = (hosts: readonly string[], near = (rank: number) => hosts[rank] === hosts[0]) => ({
    rank: 0,
    size: hosts.length,
    hosts,
    links: hosts.slice(1).map((_, index) => link(index + 1, near(index + 1))),
  });

  it('is defined only for several hosts that each have the same number of consecutive ranks', () => {
    expect(ranksPerHost(groupOf(['a', 'a', 'b', 'b']))).toBe(2);
    expect(ranksPerHost(groupOf(['a', 'b', 'a', 'b']))).toBeUndefined();
    expect(ranksPerHost(groupOf(['a', 'a', 'b']))).toBeUndefined();
    expect(ranksPerHost(groupOf(['a', 'a', 'b', 'c']))).toBeUndefined();
    expect(ranksPerHost(groupOf(['a', 'a', 'a', 'a']))).toBeUndefined();
    expect(ranksPerHost(groupOf(['a', 'a', 'b', 'b'], () => false))).toBeUndefined();
  });
});
