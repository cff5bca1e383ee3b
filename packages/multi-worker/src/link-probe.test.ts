import type { Collective, Communicator, ProcessGroup } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { expect, it } from 'vitest';
import { type LinkModel, predict } from './link-model.js';
import { type ProbeCall, probe } from './link-probe.js';

const ranks = 4;
// Links between hosts with a latency of five milliseconds.
const truth: LinkModel = { start: 1e-6, gamma: 1e-10, across: { alpha: 5e-3, beta: 8e-9, overhead: 1e-5 } };
const algorithms = [directAlgorithm(), ringAlgorithm()];
const sum: Collective = { kind: 'all-reduce', op: 'sum' };

it('the link probe measures latencies correctly although late ranks do not wait', () => {
  const models = probeAll((call, late) => (late ? 1e-6 : secondsOf(call)));
  for (const model of models) expect(model).toEqual(models[0]);
  for (const algorithm of algorithms) {
    for (const bytes of [4, 1 << 16]) {
      const trial = { kind: sum.kind, schedule: algorithm.plan(sum, ranks), bytes };
      expect(predict(models[0] as LinkModel, trial) / predict(truth, trial)).toBeCloseTo(1, 1);
    }
  }
});

function secondsOf({ communicator, collective, output }: ProbeCall): number {
  const { algorithm } = communicator as CommunicatorDouble;
  const schedule = algorithm.plan(collective, ranks);
  return predict(truth, { kind: collective.kind, schedule, bytes: output.data.byteLength });
}

interface CommunicatorDouble extends Communicator {
  readonly algorithm: Algorithm;
}

/**
 * Runs the probes of all ranks and returns their models. In each call a different rank is late.
 * Broadcasts and maxima, with which ranks exchange times and models, are really executed.
 */
function probeAll(seconds: (call: ProbeCall, isLate: boolean) => number): LinkModel[] {
  const probes = Array.from({ length: ranks }, (_, rank) => {
    const group = { rank, size: ranks, hosts: ['a', 'b', 'c', 'd'], links: [] } as unknown as ProcessGroup;
    const communicators = algorithms.map((algorithm) => ({ algorithm, refuses: () => undefined }) as never);
    return probe(group, algorithms, communicators);
  });
  let all = probes.map((one) => one.next());
  for (let late = 0; all.every(({ done }) => !done); late = (late + 1) % ranks) {
    const calls = all.map(({ value }) => value as ProbeCall);
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
  return all.map(({ value }) => value as LinkModel);
}
