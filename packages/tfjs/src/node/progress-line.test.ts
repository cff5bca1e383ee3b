import type { TrainingSummary } from '@coll/strategy/internal';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { presentStepOf } from '../present-step.js';
import { progressLine, progressOn } from './progress-line.js';

const contextOf = (numReplicasInSync: number, replicaIdInSyncGroup = 0) => ({
  numReplicasInSync,
  replicaIdInSyncGroup,
  allReduce: () => undefined,
});

/** Trains epochs of two steps with 8 rows on each replica, one second long each. */
async function train(
  callback: ReturnType<typeof progressLine>,
  clock: { now: number },
  epochs: number,
  context: object,
) {
  callback.setParams?.({ epochs, samples: 16, batchSize: 8 });
  await callback.onTrainBegin?.({});
  for (let epoch = 0; epoch < epochs; epoch++) {
    await callback.onEpochBegin?.(epoch, {});
    for (const batch of [0, 1]) {
      clock.now += 500;
      await callback.onBatchEnd?.(batch, { size: 8, loss: 0.5 });
    }
    const summary = { waiting: 0.12, exchange: 0.05, verdict: 'two replicas pay' } as TrainingSummary;
    presentStepOf(context as never).epoch = { rows: 32, summary };
    await callback.onEpochEnd?.(epoch, { loss: 0.25, acc: 1 });
  }
  await callback.onTrainEnd?.({});
}

describe('progressLine', () => {
  const lines: string[] = [];

  beforeEach(() => {
    lines.length = 0;
    vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(line));
  });
  afterEach(() => void vi.restoreAllMocks());

  it('prints the first and the last epoch, and one at most every ten seconds, without a terminal', async () => {
    const [clock, context] = [{ now: 0 }, contextOf(2)];
    await train(
      progressOn(undefined, context, () => clock.now),
      clock,
      14,
      context,
    );
    const figures = '32 samples/s · loss 0.2500 · acc 1.0000 · 12 % waiting, 5 % exchange';
    expect(lines).toEqual([
      `epoch 1/14 · step 2 · ${figures}`,
      `epoch 11/14 · step 22 · ${figures}`,
      `epoch 14/14 · step 28 · ${figures}`,
      'two replicas pay',
    ]);
  });

  it('shows the present epoch in a terminal, and leaves one line per epoch', async () => {
    const [clock, context] = [{ now: 0 }, contextOf(2)];
    const written: string[] = [];
    const stream = { isTTY: true, columns: 200, write: (text: string) => written.push(text) > 0 };
    await train(
      progressOn(stream, context, () => clock.now),
      clock,
      2,
      context,
    );
    expect(lines).toEqual([]);
    const shown = written.join('');
    expect(shown).toContain(' step 2/2 · 32 samples/s · own loss 0.5000 · 12 % waiting, 5 % exchange');
    expect(written.filter((text) => text.endsWith('\n'))).toEqual([
      expect.stringMatching(/^epoch 1\/2 · step 2 · 32 samples\/s · loss 0.2500/),
      expect.stringMatching(/^epoch 2\/2 · step 4 · /),
      'two replicas pay\n',
    ]);
  });

  it('leaves out figures that a narrow terminal has no room for', async () => {
    const [clock, context] = [{ now: 0 }, contextOf(2)];
    const written: string[] = [];
    const stream = { isTTY: true, columns: 60, write: (text: string) => written.push(text) > 0 };
    await train(
      progressOn(stream, context, () => clock.now),
      clock,
      1,
      context,
    );
    const bar = written.find((text) => text.includes(' step 2/2')) as string;
    expect(bar).toContain(' step 2/2 · 32 samples/s');
    expect(bar).not.toContain('own');
  });

  it('does nothing on other replicas', () => {
    expect(progressLine(contextOf(2, 1))).toEqual({});
  });

  it('refuses what is not the context of a replica', () => {
    expect(() => progressLine({} as never)).toThrow(/^progressLine: context must be the replica context/);
  });
});
