import type { Collective, Communicator, ProcessGroup } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { expect, it } from 'vitest';
import { binaryTreeAlgorithm } from './binary-tree-algorithm.js';
import { type LinkModel, predict } from './link-model.js';
import { type ProbeCall, probe } from './link-probe.js';
import { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';
import { twoLevelAlgorithms } from './two-level-algorithms.js';

const ranks = 4;
const apart = ['a', 'b', 'c', 'd'];
const pairs = ['a', 'a', 'b', 'b'];
// Links between hosts with a latency of five milliseconds.
const far: LinkModel = { start: 1e-6, gamma: 1e-10, across: { alpha: 5e-3, beta: 8e-9, overhead: 1e-5 } };
// Two hosts with a link of 1 Gbit/s.
const twoHosts: LinkModel = {
  start: 3e-4,
  gamma: 2e-10,
  across: { alpha: 1.5e-4, beta: 8.5e-9, overhead: 2e-5 },
  within: { ranksPerWorker: 2, alpha: 2e-5, beta: 1e-9, overhead: 5e-6 },
};
const sum: Collective = { kind: 'all-reduce', op: 'sum' };

it('the link probe measures latencies correctly although late ranks do not wait', () => {
  const algorithms = [directAlgorithm(), ringAlgorithm()];
  const { models } = probeAll(apart, algorithms, (call, isLate) => (isLate ? 1e-6 : secondsOf(far, call)));
  for (const model of models) expect(model).toEqual(models[0]);
  for (const algorithm of algorithms)
    for (const bytes of [4, 1 << 16]) expect(ratioOf(models[0] as LinkModel, far, algorithm, bytes)).toBeCloseTo(1, 1);
});

it('the link probe tells links within hosts from links between hosts although other work delays some calls', () => {
  const [whole, , , , , inBlocks] = twoLevelAlgorithms(ranks, 2) as [Algorithm, ...Algorithm[]];
  const flat = [directAlgorithm(), recursiveHalvingDoublingAlgorithm(), ringAlgorithm(), binaryTreeAlgorithm()];
  let count = 0;
  // Every third call of a rank is delayed.
  const delay = () => (count++ % 3 === 0 ? 4e-3 : 0);
  const { models } = probeAll(pairs, [...flat, whole], (call) => secondsOf(twoHosts, call) + delay());
  for (const algorithm of [...flat, whole, inBlocks as Algorithm]) {
    const ratio = ratioOf(models[0] as LinkModel, twoHosts, algorithm, 1 << 24);
    expect(ratio, algorithm.name).toBeGreaterThan(0.9);
    expect(ratio, algorithm.name).toBeLessThan(1.1);
  }
});

it('the link probe executes six rounds on fast links, and two without large buffers on slow links', () => {
  const algorithms = [directAlgorithm(), ringAlgorithm()];
  const large = (calls: readonly ProbeCall[]) =>
    calls.filter(({ output }) => output.data.byteLength === 1 << 20).length;
  const fast = probeAll(apart, algorithms, (call) => secondsOf(twoHosts, call)).calls;
  expect(large(fast)).toBe(5 * algorithms.length);
  const modem: LinkModel = { ...far, across: { ...far.across, beta: 1e-6 } };
  const slow = probeAll(apart, algorithms, (call) => secondsOf(modem, call)).calls;
  expect(large(slow)).toBe(0);
  // Rank 0 then broadcasts the model.
  expect(slow).toHaveLength(2 * (4 * algorithms.length + 1) + 1);
});

/** The time of an all-reduce by one model, relative to its time by another. */
function ratioOf(model: LinkModel, truth: LinkModel, algorithm: Algorithm, bytes: number): number {
  const trial = { kind: sum.kind, schedule: algorithm.plan(sum, ranks), bytes };
  return predict(model, trial) / predict(truth, trial);
}

function secondsOf(truth: LinkModel, { communicator, collective, output }: ProbeCall): number {
  const { algorithm } = communicator as CommunicatorDouble;
  const schedule = algorithm.plan(collective, ranks);
  return predict(truth, { kind: collective.kind, schedule, bytes: output.data.byteLength });
}

interface CommunicatorDouble extends Communicator {
  readonly algorithm: Algorithm;
}

/**
 * Runs the probes of all ranks and returns their models and the calls of rank 0. In each call a
 * different rank is late. Broadcasts and maxima, with which ranks exchange times and models, are
 * really executed.
 */
function probeAll(
  hosts: readonly string[],
  algorithms: readonly Algorithm[],
  seconds: (call: ProbeCall, isLate: boolean) => number,
): { models: LinkModel[]; calls: ProbeCall[] } {
  const made: ProbeCall[] = [];
  const probes = Array.from({ length: ranks }, (_, rank) => {
    const links = [...hosts.keys()]
      .filter((other) => other !== rank)
      .map((other) => ({ rank: other, transport: hosts[other] === hosts[rank] ? 'shared-memory' : 'tcp', reason: '' }));
    const group = { rank, size: ranks, hosts, links } as unknown as ProcessGroup;
    const communicators = algorithms.map((algorithm) => {
      const refuses = (collective: Collective) => algorithm.refuses?.(collective, ranks);
      return { algorithm, refuses } as unknown as CommunicatorDouble;
    });
    return probe(group, algorithms, communicators);
  });
  let all = probes.map((one) => one.next());
  for (let late = 0; all.every(({ done }) => !done); late = (late + 1) % ranks) {
    const calls = all.map(({ value }) => value as ProbeCall);
    made.push(calls[0] as ProbeCall);
    const { collective } = calls[0] as ProbeCall;
    if (collective.kind === 'broadcast') {
      for (const { output } of calls) output.data.set(calls[0]?.input.data as never);
    } else if (collective.kind === 'all-reduce' && collective.op === 'max') {
      const inputs = calls.map(({ input }) => Array.from(input.data as Float64Array));
      const most = Float64Array.from(inputs[0] as number[], (_, index) =>
        Math.max(...inputs.map((own) => own[index] as number)),
      );
      for (const { output } of calls) output.data.set(most as never);
    }
    all = probes.map((one, rank) => one.next(seconds(calls[rank] as ProbeCall, rank === late)));
  }
  return { models: all.map(({ value }) => value as LinkModel), calls: made };
}
