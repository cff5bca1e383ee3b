import { type CallRecorder, setRecorder } from '@coll/core/internal';
import { describe, expect, it, vi } from 'vitest';
import { together } from './together.js';
import { TrainingMeter, type TrainingSummary } from './training-meter.js';

/** Milliseconds of each step in which each replica computes; the exchange begins when the last one is done. */
type Plan = { readonly computing: readonly number[]; readonly exchange: number; readonly steps: number };

const unmeasured = 3;

/** Runs the plan on a clock of its own, and returns the summaries of all replicas. */
function summariesOf({ computing, exchange, steps }: Plan, samples = 8): (TrainingSummary | undefined)[] {
  let now = 0;
  const meters = computing.map(() => new TrainingMeter(() => now));
  for (let step = 0; step < steps + unmeasured; step++) {
    const last = Math.max(...computing);
    now += last + exchange;
    for (const [replica, own] of computing.entries()) meters[replica]?.note(last - own + exchange, samples);
  }
  return together(
    meters.map((meter, replica) => meter.summary({ numReplicasInSync: meters.length, replicaIdInSyncGroup: replica })),
  );
}

describe('a training meter', () => {
  it.each<[string, Plan, number, number, string]>([
    [
      'too small',
      { computing: [0.12, 0.12], exchange: 0.28, steps: 40 },
      0.7,
      0,
      'a step takes 0.40 ms, 70 % of it waiting and exchange: two replicas do not pay; larger batches will',
    ],
    [
      'small',
      { computing: [1, 1], exchange: 0.5, steps: 40 },
      1 / 3,
      0,
      'a step takes 1.5 ms, 33 % of it waiting and exchange: two replicas are at most 1.3 times as fast as one',
    ],
    [
      'on its edge',
      { computing: [1, 1, 1, 1], exchange: 3, steps: 10 },
      0.75,
      0,
      'a step takes 4.0 ms, 75 % of it waiting and exchange: 4 replicas hardly pay; larger batches will',
    ],
    [
      'of unequal replicas',
      { computing: [10, 30], exchange: 1, steps: 10 },
      1 / 31,
      10 / 31,
      'a step takes 31 ms, 35 % of it waiting and exchange: two replicas are at most 1.3 times as fast as one; the others wait for replica 1, which computes 50 % longer than the average',
    ],
    [
      'with one straggler',
      { computing: [1, 1, 1, 9], exchange: 0, steps: 10 },
      0,
      2 / 3,
      'a step takes 9.0 ms, 67 % of it waiting and exchange: 4 replicas are at most 1.3 times as fast as one; the others wait for replica 3, which computes 200 % longer than the average',
    ],
    [
      'large',
      { computing: [60, 60], exchange: 1, steps: 2000 },
      1 / 61,
      0,
      'a step takes 61 ms, 2 % of it waiting and exchange: two replicas are at most 2.0 times as fast as one',
    ],
  ])('tells waiting from exchange in a program that is %s', (_, plan, exchange, waiting, verdict) => {
    const summaries = summariesOf(plan);
    for (const summary of summaries) expect(summary).toEqual(summaries[0]);
    expect(summaries[0]?.exchange).toBeCloseTo(exchange);
    expect(summaries[0]?.waiting).toBeCloseTo(waiting);
    expect(summaries[0]).toMatchObject({ steps: plan.steps, samples: 8 * plan.steps * plan.computing.length, verdict });
  });

  it('measures nothing in the first three steps', () => {
    expect(summariesOf({ computing: [1, 1], exchange: 1, steps: 0 })).toEqual([undefined, undefined]);
  });

  it('begins anew after a restart', () => {
    let now = 0;
    const meter = new TrainingMeter(() => now);
    const steps = (milliseconds: number) => {
      for (let step = 0; step < 10; step++) {
        now += milliseconds;
        meter.note(0, 1);
      }
    };
    steps(5);
    meter.restart();
    steps(2);
    const [summary] = together([meter.summary({ numReplicasInSync: 1, replicaIdInSyncGroup: 0 })]);
    expect(summary).toMatchObject({ steps: 10, samples: 10 });
    expect(summary?.seconds).toBeCloseTo(0.02);
  });
});

it('a training meter records all steps and samples for programs that show the progress', () => {
  const progress = vi.fn();
  setRecorder({ progress } as unknown as CallRecorder);
  const meter = new TrainingMeter();
  for (const samples of [8, 4, undefined]) meter.note(1, samples);
  meter.restart();
  meter.note(1, 8);
  setRecorder(undefined);
  expect(progress.mock.calls).toEqual([
    [1, 8],
    [2, 12],
    [3, 12],
    [4, 20],
  ]);
});
