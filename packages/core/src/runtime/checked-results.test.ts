import { directAlgorithm } from '@coll/direct';
import { describe, expect, it, vi } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { joinThreadGroup } from '../engines/open-members.js';
import { jsEngine } from '../js/js-engine.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { type Tensor, tensor } from '../values/tensor.js';
import { checkedResults, requireCheckResults } from './checked-results.js';
import type { Communicator, RunOptions, Segments } from './communicator.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };

/** A communicator of ranks of one thread, whose rank `rank` gets a wrong bit in the call `at` of the program, counted from 1. */
function damaged(size: number, rank: number, at: number) {
  const inner = jsEngine.communicator(size, directAlgorithm());
  let calls = 0;
  const checks: (RunOptions | undefined)[] = [];
  const damage = (outputs: readonly Segments[], options?: RunOptions) => {
    if (options?.request?.purpose === 'results') checks.push(options);
    else if (++calls === at) (outputs[rank] as Tensor<'float32'>).data[1] = 0.5;
  };
  const communicator: Communicator = {
    ...{ size, localRanks: inner.localRanks, group: inner.group },
    refuses: inner.refuses.bind(inner),
    close: inner.close.bind(inner),
    [Symbol.asyncDispose]: inner.close.bind(inner),
    run: async (collective, inputs, outputs, options) => {
      await inner.run(collective, inputs, outputs, options);
      damage(outputs, options);
    },
    runSync: (collective, inputs, outputs, options) => {
      inner.runSync(collective, inputs, outputs, options);
      damage(outputs, options);
    },
  };
  return { communicator, checks };
}

const buffersOf = (size: number) => Array.from({ length: size }, () => tensor(new Float32Array([1, 2, 3])));

describe('checkedResults', () => {
  it.each([
    [3, 1, /^all-reduce sum: the result of rank 1 differs from that of ranks 0, 2: /],
    [2, 0, /^all-reduce sum: the result of rank 1 differs from that of rank 0: /],
  ])('of %i ranks names the first rank that parts, and fails the group', async (size, rank, message) => {
    const { communicator } = damaged(size, rank, 4);
    const checked = checkedResults(communicator, 2);
    const buffers = buffersOf(size);
    for (let call = 0; call < 3; call++) await checked.run(sum, buffers, buffers);
    const error = await checked.run(sum, buffers, buffers).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_MISMATCH',
      operation: 'all-reduce sum',
      rank: 1,
    });
    expect((error as Error).message).toMatch(message);
    expect(communicator.group.failure).toMatchObject({ code: 'ERR_COLL_MISMATCH' });
  });

  it('compares by calls that block, too', () => {
    const { communicator } = damaged(3, 2, 2);
    const checked = checkedResults(communicator, 2);
    const buffers = buffersOf(3);
    checked.runSync(sum, buffers, buffers);
    expect(() => checked.runSync(sum, buffers, buffers)).toThrow(
      'the result of rank 2 differs from that of ranks 0, 1',
    );
  });

  it('compares every third result that is equal on all ranks, between calls that are under way', async () => {
    const { communicator, checks } = damaged(2, 0, Number.POSITIVE_INFINITY);
    const checked = checkedResults(communicator, 3);
    const buffers = buffersOf(2);
    const scatter: Collective = { kind: 'reduce-scatter', op: 'sum' };
    const halves = [0, 1].map(() => tensor(new Float32Array(1)));
    const pairs = [0, 1].map(() => tensor(new Float32Array(2)));
    const calls = Array.from({ length: 7 }, () => [
      checked.run(sum, buffers, buffers),
      checked.run(scatter, pairs, halves),
    ]);
    await Promise.all(calls.flat());
    expect(checks).toHaveLength(2);
    expect(buffers[0]?.data[0]).toBe(2 ** 7);
  });

  it('is the communicator itself if nothing is to be compared', () => {
    const alone = jsEngine.communicator(1, directAlgorithm());
    expect(checkedResults(alone, 100)).toBe(alone);
    const pair = jsEngine.communicator(2, directAlgorithm());
    expect(checkedResults(pair, 0)).toBe(pair);
  });
});

it('members of a group of threads compare results if all of them have joined with checkResults', async () => {
  const group = jsEngine.createGroup({ size: 3 });
  const join = (rank: number) => joinThreadGroup(group, { rank, algorithm: directAlgorithm(), checkResults: 2 });
  const members = [0, 1, 2].map(join);
  const { run } = ThreadCommunicator.prototype;
  vi.spyOn(ThreadCommunicator.prototype, 'run').mockImplementation(async function (this: Communicator, ...call) {
    await run.apply(this, call);
    if (this.localRanks[0] === 2 && call[0].kind === 'broadcast') (call[2][0] as Tensor<'float32'>).data[0] = 7;
  });
  const broadcast = () => Promise.allSettled(members.map((one) => one.broadcast(0, new Float32Array([one.rank]))));
  expect((await broadcast()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  for (const result of await broadcast())
    expect(result).toMatchObject({
      reason: { code: 'ERR_COLL_MISMATCH', rank: 2, operation: 'broadcast from rank 0' },
    });
  vi.restoreAllMocks();
  await Promise.all(members.map((member) => member.close()));
});

it.each([-1, 0.5, '7', Number.NaN])('requireCheckResults refuses %j', (value) => {
  expect(() => requireCheckResults(value)).toThrow('checkResults must be a whole number, 0 or more, got');
});
