import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { expect, it } from 'vitest';
import { AlgorithmChoices } from './algorithm-choices.js';
import { binaryTreeAlgorithm } from './binary-tree-algorithm.js';
import type { LinkModel } from './link-model.js';
import { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';
import { twoLevelAlgorithms } from './two-level-algorithms.js';

const algorithms = [directAlgorithm(), recursiveHalvingDoublingAlgorithm(), ringAlgorithm(), binaryTreeAlgorithm()];
// A network with a high cost per message.
const network: LinkModel = { start: 0, gamma: 1e-11, across: { alpha: 1e-6, beta: 1e-9, overhead: 2e-5 } };
const sum = { kind: 'all-reduce', op: 'sum' } as const;

const chosenAmong = (ranks: number, bytes: number) => {
  const choices = new AlgorithmChoices(algorithms, ranks, network);
  return choices.choose(sum, bytes).explained.chosen;
};

it('AlgorithmChoices prefers few rounds for small values and few bytes for large values', () => {
  expect(chosenAmong(13, 4)).toBe('binary-tree');
  expect(chosenAmong(16, 1 << 20)).toBe('recursive-halving-doubling');
  expect(chosenAmong(13, 1 << 26)).toMatch(/ring|direct/);
});

it('AlgorithmChoices prefers the first of several algorithms with the same cost', () => {
  const free: LinkModel = { start: 1, gamma: 0, across: { alpha: 0, beta: 0, overhead: 0 } };
  expect(new AlgorithmChoices(algorithms, 4, free).choose(sum, 100).chosen).toBe(0);
});

it('AlgorithmChoices prefers a ring between hosts for large values if other algorithms cost about the same', () => {
  const far: LinkModel = { start: 0, gamma: 1e-13, across: { alpha: 5e-3, beta: 8e-9, overhead: 1e-6 } };
  const chosen = (bytes: number, areHostsApart: boolean, ranks = 4) => {
    const choices = new AlgorithmChoices(algorithms, ranks, far, areHostsApart);
    return choices.choose(sum, bytes).explained.chosen;
  };
  expect(chosen(1 << 26, true)).toBe('ring');
  expect(chosen(1 << 26, false)).toBe('direct');
  expect(chosen(1 << 12, true)).toBe('direct');
  expect(chosen(1 << 26, true, 2)).toBe('direct');
});

it('AlgorithmChoices computes costs once per range of sizes, and once for all roots', () => {
  const choices = new AlgorithmChoices(algorithms, 6, network);
  expect(choices.choose(sum, 513)).toBe(choices.choose(sum, 1024));
  expect(choices.choose(sum, 512)).not.toBe(choices.choose(sum, 513));
  expect(choices.choose(sum, 0)).toBe(choices.choose(sum, 1));
  const broadcast = (root: number) => choices.choose({ kind: 'broadcast', root }, 64);
  expect(broadcast(5)).toBe(broadcast(0));
});

it('AlgorithmChoices explains its choice with the candidates and the measured time of the calls', () => {
  const choices = new AlgorithmChoices(algorithms, 6, network);
  const choice = choices.choose(sum, 1000);
  expect(choices.explained).toEqual([
    expect.objectContaining({ kind: 'all-reduce', upToBytes: 1024, calls: 0, measuredSeconds: undefined }),
  ]);
  choice.ended(performance.now() - 20);
  const [{ calls, measuredSeconds, candidates, chosen }] = choices.explained as [(typeof choices.explained)[number]];
  expect(calls).toBe(1);
  expect(measuredSeconds).toBeGreaterThan(0.0199);
  expect(candidates.map(({ algorithm }) => algorithm)).not.toContain('recursive-halving-doubling');
  expect(candidates[0]?.algorithm).toBe(chosen);
  const prices = candidates.map(({ predictedSeconds }) => predictedSeconds);
  expect(prices).toEqual(prices.toSorted((one, other) => one - other));
});

it('AlgorithmChoices reduces within hosts first if links between hosts are slow, in blocks for large values', () => {
  const within = { ranksPerWorker: 4, alpha: 1e-6, beta: 1e-10, overhead: 1e-7 };
  const hosts: LinkModel = { start: 0, gamma: 1e-11, across: { alpha: 5e-5, beta: 8e-10, overhead: 2e-6 }, within };
  const candidates = [...algorithms, ...twoLevelAlgorithms(8, 4)];
  const choices = new AlgorithmChoices(candidates, 8, hosts, true);
  const chosen = (bytes: number) => choices.choose(sum, bytes).explained.chosen;
  expect(chosen(4)).toBe('direct/direct');
  expect(chosen(1 << 26)).toBe('direct/direct in 4 blocks');
  const gather = choices.choose({ kind: 'all-gather' }, 1024);
  expect(gather.explained.chosen).not.toContain('/');
});

it('AlgorithmChoices measures the first sixteen calls and then every sixteenth, and counts all', () => {
  const choices = new AlgorithmChoices(algorithms, 6, network);
  const choice = choices.choose(sum, 1000);
  const measured = Array.from({ length: 64 }, () => {
    const begin = choice.begin();
    choice.ended(begin);
    return begin !== undefined;
  });
  expect(measured.slice(0, 16)).not.toContain(false);
  expect(
    measured
      .slice(16)
      .map((isMeasured, call) => (isMeasured ? call : -1))
      .filter((call) => call >= 0),
  ).toEqual([0, 16, 32]);
  expect(choices.explained).toMatchObject([{ calls: 64 }]);
});

it('AlgorithmChoices knows only classes of earlier collectives', () => {
  const choices = new AlgorithmChoices(algorithms, 6, network);
  const [one, large] = [choices.choose(sum, 1), choices.choose(sum, 1024)];
  expect([0, 1].map((bytes) => choices.known('all-reduce', bytes))).toEqual([one, one]);
  expect([513, 1024].map((bytes) => choices.known('all-reduce', bytes))).toEqual([large, large]);
  expect([2, 512, 1025].map((bytes) => choices.known('all-reduce', bytes))).toEqual([undefined, undefined, undefined]);
  expect(choices.known('broadcast', 1024)).toBeUndefined();
});
