import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { tensor, zeros } from '../values/tensor.js';
import type { Communicator } from './communicator.js';
import { drive, driveSync, type Phases, type Run, stepOf, type Work, workDone } from './drive.js';

/** A group of one rank, which keeps its calls in order. */
function alone(): Communicator {
  const group = createThreadGroup({ size: 1, maxBytes: 2 ** 16, spins: 0 });
  return new ThreadCommunicator(group, { rank: 0, algorithm: directAlgorithm() });
}

const sumOf = (value: number): Run & { readonly outputs: readonly [ReturnType<typeof zeros>] } => ({
  collective: { kind: 'all-reduce', op: 'sum' },
  inputs: [tensor([value])],
  outputs: [zeros('float64', [1])],
});

/** Reads the result of one phase before it yields the next one. */
function* twoPhases(): Phases<readonly unknown[]> {
  const first = sumOf(3);
  yield [first];
  const second = sumOf(Number(first.outputs[0].data[0]) + 1);
  yield [second];
  return [first, second].map(({ outputs: [{ data }] }) => data[0]);
}

describe('drive()', () => {
  it('starts each phase when the previous one has ended, for sync and async calls', async () => {
    const work = (on: Communicator): Work<readonly unknown[]> => ({ on, phases: twoPhases() });
    expect(await drive(work(alone()))).toEqual([3, 4]);
    expect(driveSync('sums', work(alone()))).toEqual([3, 4]);
  });

  it('delays later calls until work of several phases has ended, except calls that belong to this work', async () => {
    const on = alone();
    const log: string[] = [];
    const step = stepOf(on, async ({ turn }) => {
      await on.run(sumOf(1).collective, sumOf(1).inputs, sumOf(1).outputs, { turn });
      log.push('part');
    });
    const running = drive(step);
    const { collective, inputs, outputs } = sumOf(2);
    const later = on.run(collective, inputs, outputs).then(() => log.push('later'));
    await Promise.all([running, later]);
    expect(log).toEqual(['part', 'later']);
    expect(on.group.order.isHeld).toBe(false);
  });

  it('lets the next call start when a step fails', async () => {
    const on = alone();
    await expect(drive(stepOf(on, () => Promise.reject(new Error('broken'))))).rejects.toThrow('broken');
    expect(on.group.order.isHeld).toBe(false);
  });

  it('fails the group when a rank throws after its first phase, but not before the phase', async () => {
    const threads = createThreadGroup({ size: 2, maxBytes: 2 ** 16, spins: 0 });
    const rankOf = (rank: number) => new ThreadCommunicator(threads, { rank, algorithm: directAlgorithm() });
    const [own, other] = [rankOf(0), rankOf(1)];
    function* broken(phases: number): Phases<void> {
      for (let phase = 0; phase < phases; phase++) yield [sumOf(phase)];
      throw new Error('broken');
    }
    await expect(drive({ on: own, phases: broken(0) })).rejects.toThrow('broken');
    expect(own.group.failure).toBeUndefined();
    const failing = expect(drive({ on: own, phases: broken(1) })).rejects.toThrow('broken');
    const waiting = drive({ on: other, phases: twoPhases() }, { timeoutSeconds: 60 });
    const error = await waiting.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 0 });
    expect(String(error)).toContain('broken');
    await failing;
  });

  it('returns the result of work that is already done', async () => {
    expect(await drive(workDone(5))).toBe(5);
    expect(driveSync('nothing', workDone(5))).toBe(5);
  });

  it('refuses to block for an asynchronous step, and names the operation', () => {
    expect(
      thrown(() =>
        driveSync(
          'all-gather along axis 0',
          stepOf(undefined, async () => 5),
        ),
      ),
    ).toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
      operation: 'all-gather along axis 0',
      message: expect.stringContaining('await the asynchronous call'),
    });
  });
});
