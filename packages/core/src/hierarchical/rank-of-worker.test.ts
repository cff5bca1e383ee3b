import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import type { Collective } from '../collective.js';
import type { Communicator } from '../communicator.js';
import { fromFloat16, toFloat16 } from '../half.js';
import { PortableCommunicator } from '../portable/portable-communicator.js';
import { type Tensor, tensor, zeros } from '../tensor.js';
import { jsEngine } from '../threads/thread-engine.js';
import { rankOfWorker } from './rank-of-worker.js';

/** All ranks of that many workers, in one thread: only asynchronous calls can meet. */
function ranksOf(workers: number, ranks: number): Communicator[] {
  const join = (size: number) => {
    const group = jsEngine.createGroup({ size, spins: 0 });
    return Array.from({ length: size }, (_, rank) => jsEngine.join(group, { rank, algorithm: directAlgorithm }));
  };
  const across = join(workers);
  return across.flatMap((leader, worker) =>
    join(ranks).map((within, place) =>
      rankOfWorker(within, { workers, worker, across: place === 0 ? leader : undefined }),
    ),
  );
}

async function runAll(
  ranks: readonly Communicator[],
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): Promise<PromiseSettledResult<void>[]> {
  return Promise.allSettled(
    ranks.map((rank, index) => rank.run(collective, [inputs[index] as Tensor], [outputs[index] as Tensor])),
  );
}

const numbersOf = (tensors: readonly Tensor[]) => tensors.map(({ data }) => [...data]);
const cases: readonly (readonly [number, number])[] = [
  [2, 1],
  [1, 2],
  [2, 2],
  [3, 2],
  [2, 3],
];

describe.each(cases)('the ranks of %i workers with %i each', (workers, ranks) => {
  const size = workers * ranks;
  const inputs = Array.from({ length: size }, (_, rank) => tensor(Int32Array.of(rank, 10 * rank, 1)));

  it('know who they are', () => {
    const all = ranksOf(workers, ranks);
    expect(all.map(({ localRanks }) => localRanks)).toEqual(inputs.map((_, rank) => [rank]));
    expect(all.every((rank) => rank.size === size)).toBe(true);
  });

  it.each<Collective>([
    { kind: 'all-reduce', op: 'sum' },
    { kind: 'all-reduce', op: 'max' },
    { kind: 'all-gather' },
    { kind: 'broadcast', root: 0 },
    { kind: 'broadcast', root: size - 1 },
  ])('get what they would get by themselves: %j', async (collective) => {
    const length = collective.kind === 'all-gather' ? 3 * size : 3;
    const [outputs, expected] = [0, 1].map(() => inputs.map(() => zeros('int32', [length]))) as [Tensor[], Tensor[]];
    await new PortableCommunicator({ size, algorithm: directAlgorithm }).run(collective, inputs, expected);
    expect(await runAll(ranksOf(workers, ranks), collective, inputs, outputs)).toEqual(
      inputs.map(() => ({ status: 'fulfilled', value: undefined })),
    );
    expect(numbersOf(outputs)).toEqual(numbersOf(expected));
    expect(numbersOf(inputs)).toEqual(inputs.map((_, rank) => [rank, 10 * rank, 1]));
  });

  it('average, and round halves once', async () => {
    const values = inputs.map((_, rank) => (rank % 2 === 0 ? 2048 : 1));
    const halves = values.map((value) => tensor(Uint16Array.of(toFloat16(value)), { dtype: 'float16' }));
    await runAll(ranksOf(workers, ranks), { kind: 'all-reduce', op: 'mean' }, halves, halves);
    const mean = values.reduce((sum, value) => sum + value, 0) / size;
    for (const { data } of halves) expect(fromFloat16(Number(data[0]))).toBe(fromFloat16(toFloat16(mean)));
  });

  it('keep the order of their calls', async () => {
    const all = ranksOf(workers, ranks);
    const buffers = inputs.map(() => tensor(Int32Array.of(1)));
    const sum: Collective = { kind: 'all-reduce', op: 'sum' };
    await Promise.all([runAll(all, sum, buffers, buffers), runAll(all, sum, buffers, buffers)]);
    expect(numbersOf(buffers)).toEqual(buffers.map(() => [size * size]));
  });
});

describe('a rank of a worker', () => {
  it('tells errors of a level in the ranks of the whole', async () => {
    const all = ranksOf(2, 2);
    const buffer = [tensor([1])];
    const error = await all[2]
      ?.run({ kind: 'all-reduce', op: 'sum' }, buffer, buffer, { timeoutSeconds: 0.01 })
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      rank: 2,
      message: expect.stringMatching(/rank 1 never came.*\(within worker 1, whose rank 0 is rank 2\)$/),
    });
  });

  it('notices workers that want something else', async () => {
    const all = ranksOf(2, 1);
    const outcomes = await Promise.allSettled(
      all.map((rank, worker) => {
        const buffer = [tensor(Float32Array.of(worker))];
        return rank.run({ kind: 'all-reduce', op: worker === 0 ? 'sum' : 'mean' }, buffer, buffer);
      }),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringMatching(/across workers/) },
      });
  });

  it('says what it has not, and when it was closed', async () => {
    const [first] = ranksOf(2, 2) as [Communicator];
    expect(first.refuses({ kind: 'reduce', op: 'sum', root: 0 }, 'int8')).toMatch(/two levels have .* but no reduce/);
    expect(first.refuses({ kind: 'all-reduce', op: 'mean' }, 'bool')).toMatch(/bool has no mean/);
    await first.close();
    await first[Symbol.asyncDispose]();
    const buffer = [tensor([1])];
    await expect(first.run({ kind: 'all-reduce', op: 'sum' }, buffer, buffer)).rejects.toMatchObject({
      code: 'ERR_COLL_CLOSED',
    });
  });

  it('refuses parts that do not fit together', () => {
    const portable = (size: number) => new PortableCommunicator({ size, algorithm: directAlgorithm });
    expect(() => rankOfWorker(portable(2), { workers: 2, worker: 0 })).toThrow('one rank is here, not 2');
    expect(() => rankOfWorker(portable(1), { workers: 2, worker: 0 })).toThrow('the first rank of a worker');
    expect(() => rankOfWorker(portable(1), { workers: 2, worker: 1, across: portable(1) })).toThrow(
      'across has 1 ranks and is rank 0, not worker 1 of 2',
    );
  });
});
