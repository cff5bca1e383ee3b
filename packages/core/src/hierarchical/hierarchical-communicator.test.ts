import { directAlgorithm } from '@coll/direct';
import { describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, DeadlineExceededError } from '../support/errors.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { fromFloat16, toFloat16 } from '../values/half.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { hierarchical } from './hierarchical-communicator.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
const mean: Collective = { kind: 'all-reduce', op: 'mean' };
const gather: Collective = { kind: 'all-gather' };

const portable = (size: number, algorithm: Algorithm = directAlgorithm()) =>
  new ReferenceCommunicator({ size, algorithm });
const twoByTwo = () => hierarchical([portable(2), portable(2)], portable(2));
const ints = (...elements: readonly number[]) => tensor(Int32Array.from(elements));
const numbersOf = (tensors: readonly Tensor[]) => tensors.map(({ data }) => [...data]);

/** One communicator per worker, each with only its own worker's ranks; all are in one thread. */
function inSeveralHands(ranksPerWorker: readonly number[]): Communicator[] {
  const group = createThreadGroup({ size: ranksPerWorker.length });
  return ranksPerWorker.map((size, rank) => {
    const across = new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() });
    return hierarchical([portable(size)], across, { ranksPerWorker });
  });
}

describe('a hierarchical communicator', () => {
  it('numbers ranks worker by worker', () => {
    const whole = hierarchical([portable(1), portable(3)], portable(2), { ranksPerWorker: [1, 3] });
    expect([whole.size, whole.localRanks]).toEqual([4, [0, 1, 2, 3]]);
    expect(inSeveralHands([2, 1, 2]).map(({ localRanks }) => localRanks)).toEqual([[0, 1], [2], [3, 4]]);
  });

  it('reduces within workers, then across, then broadcasts, in separate memory or in place', async () => {
    const inputs = [ints(1, 2), ints(3, 4), ints(5, 6), ints(7, 8)];
    const outputs = inputs.map(() => zeros('int32', [2]));
    await twoByTwo().run(sum, inputs, outputs);
    expect(numbersOf(outputs)).toEqual(inputs.map(() => [16, 20]));
    expect(numbersOf(inputs)).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
      [7, 8],
    ]);
    twoByTwo().runSync(sum, inputs, inputs);
    expect(numbersOf(inputs)).toEqual(inputs.map(() => [16, 20]));
  });

  it('communicates with workers in other processes', async () => {
    const hands = inSeveralHands([2, 1]);
    const inputs = [[ints(1), ints(2)], [ints(10)]];
    const outputs = inputs.map((own) => own.map(() => zeros('float64', [1])));
    await Promise.all(
      hands.map((hand, worker) => hand.run(mean, inputs[worker] as Tensor[], outputs[worker] as Tensor[])),
    );
    expect(outputs.map(numbersOf)).toEqual([[[13 / 3], [13 / 3]], [[13 / 3]]]);
  });

  it('gathers values in the order of the ranks', async () => {
    const outputs = [0, 1, 2, 3].map(() => zeros('int32', [8]));
    const inputs = [ints(1, 2), ints(3, 4), ints(5, 6), ints(7, 8)];
    await twoByTwo().run(gather, inputs, outputs);
    expect(numbersOf(outputs)).toEqual(inputs.map(() => [1, 2, 3, 4, 5, 6, 7, 8]));
  });

  it.each([0, 1, 2, 3])(
    'broadcasts from rank %i, whether or not this rank is the first of its worker',
    async (root) => {
      const outputs = [0, 1, 2, 3].map(() => zeros('int32', [2]));
      await twoByTwo().run({ kind: 'broadcast', root }, [ints(0, 0), ints(1, 1), ints(2, 2), ints(3, 3)], outputs);
      expect(numbersOf(outputs)).toEqual(outputs.map(() => [root, root]));
    },
  );

  it('rounds 16-bit floats only once', async () => {
    // The sum of a worker, 2049, is not a float16. Rounding it to 2048 would lose the small inputs.
    const inputs = [2048, 1, 1, 2048].map((value) => tensor(Uint16Array.of(toFloat16(value)), { dtype: 'float16' }));
    const outputs = inputs.map(() => zeros('float16', [1]));
    await twoByTwo().run(sum, inputs, outputs);
    expect(outputs.map(({ data }) => fromFloat16(Number(data[0])))).toEqual(
      [4098, 4098, 4098, 4098].map((value) => fromFloat16(toFloat16(value))),
    );
    await twoByTwo().run(mean, inputs, outputs);
    expect(outputs.map(({ data }) => fromFloat16(Number(data[0])))).toEqual(
      inputs.map(() => fromFloat16(toFloat16(1024.5))),
    );
  });

  it('all-reduces within workers whose communicator cannot reduce to one rank', async () => {
    const algorithm: Algorithm = {
      ...directAlgorithm(),
      refuses: ({ kind }) => (kind === 'reduce' ? 'not to one rank' : undefined),
    };
    const whole = hierarchical([portable(2, algorithm), portable(2, algorithm)], portable(2));
    const inputs = [1, 2, 3, 4].map((value) => ints(value));
    const outputs = inputs.map(() => zeros('int32', [1]));
    await whole.run(sum, inputs, outputs);
    expect(numbersOf(outputs)).toEqual([[10], [10], [10], [10]]);
  });

  it('executes collectives in the order in which they were called', async () => {
    const whole = twoByTwo();
    const buffers = [1, 2, 3, 4].map((value) => ints(value));
    await Promise.all([whole.run(sum, buffers, buffers), whole.run(sum, buffers, buffers)]);
    expect(numbersOf(buffers)).toEqual([[40], [40], [40], [40]]);
    const running = whole.run(sum, buffers, buffers);
    expect(thrown(() => whole.runSync(sum, buffers, buffers))).toMatchObject({ code: 'ERR_COLL_BUSY' });
    await running;
  });

  it('refuses collectives that it does not support', () => {
    const even = twoByTwo();
    expect(even.refuses(gather, 'int8')).toBeUndefined();
    expect(even.refuses({ kind: 'reduce', op: 'sum', root: 0 }, 'int8')).toBe(
      'a hierarchical communicator supports all-reduce, broadcast and all-gather, but not reduce',
    );
    for (const move of [{ kind: 'gather', root: 0 }, { kind: 'scatter', root: 0 }, { kind: 'all-to-all' }] as const)
      expect(even.refuses(move, 'int8')).toBe(
        `a hierarchical communicator supports all-reduce, broadcast and all-gather, but not ${move.kind}`,
      );
    expect(even.refuses(mean, 'bool')).toMatch(/the mean of bool is not defined/);
    const uneven = hierarchical([portable(1), portable(2)], portable(2), { ranksPerWorker: [1, 2] });
    expect(uneven.refuses(gather, 'int8')).toMatch(/needs the same number of ranks on every worker/);
    const none: Algorithm = {
      ...directAlgorithm(),
      refuses: ({ kind }) => (kind === 'broadcast' ? 'no way back' : undefined),
    };
    expect(hierarchical([portable(2, none)], portable(1)).refuses(sum, 'int8')).toBe('no way back');
    expect(hierarchical([portable(1, none)], portable(1)).refuses(sum, 'int8')).toBeUndefined();
  });

  it('reports errors within and across workers with the rank numbers of the whole group', async () => {
    const [early] = inSeveralHands([2, 2]) as [Communicator];
    const buffers = [ints(1), ints(2)];
    const error = await early.run(sum, buffers, buffers, { timeoutSeconds: 0.01 }).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(DeadlineExceededError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      message:
        'all-reduce sum: timed out on rank 0, 1 (worker 0) waiting for other workers: rank 2, 3 (worker 1) did not arrive',
      rank: 0,
    });
    expect(numbersOf(buffers)).toEqual([[1], [2]]);
  });

  const floats = (length: number) => tensor(new Float32Array(length).fill(1));
  const wider = () => tensor(new Float64Array(4).fill(1));
  it.each<[string, Collective, Collective, () => Tensor, string, string]>([
    [
      'ops',
      sum,
      mean,
      () => floats(4),
      'ERR_COLL_MISMATCH',
      'all-reduce mean of 4 float32 elements on rank 3, 4 (worker 2)',
    ],
    [
      'roots of one worker',
      { kind: 'broadcast', root: 0 },
      { kind: 'broadcast', root: 1 },
      () => floats(4),
      'ERR_COLL_MISMATCH',
      'broadcast of 4 float32 elements at root 1 on rank 3, 4 (worker 2)',
    ],
    [
      'dtypes',
      sum,
      sum,
      wider,
      'ERR_COLL_DTYPE_MISMATCH',
      'all-reduce sum of 4 float64 elements on rank 3, 4 (worker 2)',
    ],
    [
      'lengths',
      sum,
      sum,
      () => floats(5),
      'ERR_COLL_SHAPE_MISMATCH',
      'all-reduce sum of 5 float32 elements on rank 3, 4 (worker 2)',
    ],
    [
      'kinds',
      sum,
      { kind: 'broadcast', root: 0 },
      () => floats(4),
      'ERR_COLL_MISMATCH',
      'broadcast of 4 float32 elements at root 0 on rank 3, 4 (worker 2)',
    ],
  ])(
    'fails with the same error on all workers if one worker passes different %s, and names its ranks',
    async (_, usual, odd, make, code, text) => {
      const sizes = [1, 2, 2];
      const hands = inSeveralHands(sizes);
      const outcomes = await Promise.allSettled(
        hands.map((hand, worker) => {
          const buffers = Array.from({ length: sizes[worker] as number }, () => (worker === 2 ? make() : floats(4)));
          return hand.run(worker === 2 ? odd : usual, buffers, buffers, { timeoutSeconds: 120 });
        }),
      );
      const reasons = outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason as CollError);
      expect(reasons[0]).toMatchObject({ code, rank: 3, message: expect.stringContaining(`but ${text}`) });
      expect(reasons.map(({ message, rank }) => [message, rank])).toEqual(
        hands.map(() => [reasons[0]?.message, reasons[0]?.rank]),
      );
    },
  );

  it('wakes waiting workers at once when a call is aborted in one worker', async () => {
    const [first, second] = inSeveralHands([2, 2]) as [Communicator, Communicator];
    const controller = new AbortController();
    const buffers = [ints(1), ints(2)];
    const waiting = second.run(sum, buffers, buffers, { timeoutSeconds: 120 });
    const aborting = first.run(sum, [ints(1), ints(2)], [ints(1), ints(2)], { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(aborting).rejects.toMatchObject({ name: 'AbortedError', cause: { message: 'enough' } });
    await expect(waiting).rejects.toMatchObject({ name: 'AbortedError', code: 'ERR_COLL_ABORTED' });
    for (const whole of [first, second]) {
      await expect(whole.run(sum, buffers, buffers)).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
      expect(thrown(() => whole.runSync(sum, buffers, buffers))).toMatchObject({ code: 'ERR_COLL_ABORTED' });
      expect(whole.group.failure).toMatchObject({ code: 'ERR_COLL_ABORTED' });
    }
  });

  it('reports an error of one worker to the other workers, with the text of the error', async () => {
    const group = createThreadGroup({ size: 2 });
    const across = [0, 1].map((rank) => new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() }));
    const broken = portable(2);
    vi.spyOn(broken, 'run').mockRejectedValue(new TypeError('rank 1 and replica 0 have no memory'));
    const [one, other] = [portable(2), broken].map((part, worker) =>
      hierarchical([part], across[worker] as Communicator, { ranksPerWorker: [2, 2] }),
    ) as [Communicator, Communicator];
    const buffers = [ints(1), ints(2)];
    const waiting = one.run(sum, buffers, buffers, { timeoutSeconds: 120 });
    await expect(other.run(sum, [ints(1), ints(2)], [ints(1), ints(2)])).rejects.toThrow(
      'rank 1 and replica 0 have no memory',
    );
    await expect(waiting).rejects.toMatchObject({
      code: 'ERR_COLL_PEER_FAILED',
      message: 'all-reduce sum: rank 2 (worker 1) failed: rank 1 and replica 0 have no memory',
      rank: 2,
    });
  });

  it('closes the communicators within and across workers once', async () => {
    const parts = [portable(2), portable(2), portable(2)] as const;
    const closes = parts.map((part) => vi.spyOn(part, 'close'));
    const whole = hierarchical([parts[0], parts[1]], parts[2]);
    await whole.close();
    await whole[Symbol.asyncDispose]();
    for (const close of closes) expect(close).toHaveBeenCalledTimes(1);
    const buffers = [1, 2, 3, 4].map((value) => ints(value));
    await expect(whole.run(sum, buffers, buffers)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });

  it('refuses communicators within and across workers whose sizes do not match', () => {
    expect(() => hierarchical([], portable(1))).toThrow(
      'across has 1 leaders in this process, but within has 0 workers',
    );
    expect(() => hierarchical([portable(2)], portable(2))).toThrow(
      'across has 2 leaders in this process, but within has 1 workers',
    );
    expect(() => hierarchical([portable(2), portable(1)], portable(2))).toThrow(
      'worker 1 has 1 ranks, expected 2: pass ranksPerWorker',
    );
    expect(() => hierarchical([portable(2)], portable(1), { ranksPerWorker: [2, 2] })).toThrow(
      'ranksPerWorker has 2 workers',
    );
    const alone = new ThreadCommunicator(createThreadGroup({ size: 2 }), { rank: 0, algorithm: directAlgorithm() });
    expect(() => hierarchical([alone], portable(1))).toThrow(
      'only 1 of the 2 ranks of worker 0 are in this process; all must be',
    );
  });
});
