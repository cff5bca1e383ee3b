import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { jsEngine } from '../js/js-engine.js';
import type { Communicator, RunOptions } from '../runtime/communicator.js';
import type { CollError } from '../support/errors.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import type { DType } from '../values/dtype.js';
import { fromFloat16, toFloat16 } from '../values/half.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { rankOfWorker } from './rank-of-worker.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };

/** All ranks of `workers` workers with `ranks` ranks each, in one thread, so blocking calls would deadlock. */
function ranksOf(workers: number, ranks: number): Communicator[] {
  const join = (size: number) => {
    const group = jsEngine.createGroup({ size, spins: 0 });
    return Array.from({ length: size }, (_, rank) => jsEngine.join(group, { rank, algorithm: directAlgorithm() }));
  };
  const across = join(workers);
  return across.flatMap((leader, worker) =>
    join(ranks).map((within, index) =>
      rankOfWorker(within, { workers, worker, across: index === 0 ? leader : undefined }),
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

describe.each(cases)('ranks of %i workers with %i ranks each', (workers, ranks) => {
  const size = workers * ranks;
  const inputs = Array.from({ length: size }, (_, rank) => tensor(Int32Array.of(rank, 10 * rank, 1)));

  it('have the right rank, size and local ranks', () => {
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
  ])('get the same results as a single group: %j', async (collective) => {
    const length = collective.kind === 'all-gather' ? 3 * size : 3;
    const [outputs, expected] = [0, 1].map(() => inputs.map(() => zeros('int32', [length]))) as [Tensor[], Tensor[]];
    await new ReferenceCommunicator({ size, algorithm: directAlgorithm() }).run(collective, inputs, expected);
    expect(await runAll(ranksOf(workers, ranks), collective, inputs, outputs)).toEqual(
      inputs.map(() => ({ status: 'fulfilled', value: undefined })),
    );
    expect(numbersOf(outputs)).toEqual(numbersOf(expected));
    expect(numbersOf(inputs)).toEqual(inputs.map((_, rank) => [rank, 10 * rank, 1]));
  });

  it('average values, and round 16-bit floats only once', async () => {
    const values = inputs.map((_, rank) => (rank % 2 === 0 ? 2048 : 1));
    const halves = values.map((value) => tensor(Uint16Array.of(toFloat16(value)), { dtype: 'float16' }));
    await runAll(ranksOf(workers, ranks), { kind: 'all-reduce', op: 'mean' }, halves, halves);
    const mean = values.reduce((sum, value) => sum + value, 0) / size;
    for (const { data } of halves) expect(fromFloat16(Number(data[0]))).toBe(fromFloat16(toFloat16(mean)));
  });

  it('execute calls in the order in which they were made', async () => {
    const all = ranksOf(workers, ranks);
    const buffers = inputs.map(() => tensor(Int32Array.of(1)));
    await Promise.all([runAll(all, sum, buffers, buffers), runAll(all, sum, buffers, buffers)]);
    expect(numbersOf(buffers)).toEqual(buffers.map(() => [size * size]));
  });
});

describe('a rank of a worker', () => {
  it('reports errors within its worker with the rank numbers of the whole group', async () => {
    const all = ranksOf(2, 2);
    const buffer = [tensor([1])];
    const error = await all[2]?.run(sum, buffer, buffer, { timeoutSeconds: 0.01 }).catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      rank: 2,
      message:
        'all-reduce sum: timed out on rank 2 (worker 1) waiting for other workers: rank 3 (worker 1) did not arrive',
    });
  });

  /** The error of each rank of 2 workers with 2 ranks each; undefined if the rank made no call or did not fail. */
  async function outcomeOf(
    callOf: (rank: number) => { collective: Collective; options: RunOptions; dtype?: DType } | undefined,
  ) {
    const all = ranksOf(2, 2);
    const begin = performance.now();
    const outcomes = await Promise.allSettled(
      all.map(async (communicator, rank) => {
        const call = callOf(rank);
        if (!call) return;
        const buffer = [zeros(call.dtype ?? 'float32', [3])];
        await communicator.run(call.collective, buffer, buffer, call.options);
      }),
    );
    const errors = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as CollError) : undefined,
    );
    return { all, errors, seconds: (performance.now() - begin) / 1000 };
  }

  const patient = { timeoutSeconds: 600 };
  it.each([0, 1, 2, 3])(
    'that makes a different call is named in the same message on all ranks: rank %i',
    async (odd) => {
      const { errors } = await outcomeOf((rank) => ({
        collective: { kind: 'all-reduce', op: rank === odd ? 'max' : 'sum' },
        options: patient,
      }));
      const messages = errors.map((error) => error?.message);
      expect(new Set(messages).size, JSON.stringify(messages)).toBe(1);
      expect(errors[0]).toMatchObject({
        code: 'ERR_COLL_MISMATCH',
        message: expect.stringContaining('all-reduce max'),
      });
      expect(errors[0]?.message).toMatch(new RegExp(`on rank ${odd}\\b`));
      // With two ranks per worker, the error can name either rank of the disagreeing worker.
      expect(errors.map((error) => Math.floor((error?.rank ?? -1) / 2))).toEqual(errors.map(() => Math.floor(odd / 2)));
    },
  );

  it('that passes another dtype is reported with all ranks of its worker, if they all pass that dtype', async () => {
    const { errors } = await outcomeOf((rank) => ({
      collective: sum,
      dtype: rank < 2 ? 'int32' : 'uint32',
      options: patient,
    }));
    for (const error of errors)
      expect(error).toMatchObject({
        code: 'ERR_COLL_DTYPE_MISMATCH',
        rank: 2,
        message:
          'ranks disagree: all-reduce sum of 3 int32 elements on rank 0, 1 (worker 0), but all-reduce sum of 3 uint32 elements on rank 2, 3 (worker 1)',
      });
  });

  it.each([
    ['the first of a worker, before the other one arrives', 2, [0, 1, 2]],
    ['another of a worker, before the first one arrives', 3, [0, 1, 3]],
    ['another of a worker that waits for other workers', 1, [0, 1]],
    ['the first of a worker that waits for other workers', 0, [0, 1, 3]],
  ])('that is aborted ends the wait of all ranks at once: %s', async (_, aborter, present) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 50);
    const { all, errors, seconds } = await outcomeOf((rank) => {
      if (!present.includes(rank)) return undefined;
      return { collective: sum, options: rank === aborter ? { ...patient, signal: controller.signal } : patient };
    });
    for (const rank of present) expect(errors[rank]).toMatchObject({ code: 'ERR_COLL_ABORTED', rank: aborter });
    expect(seconds).toBeLessThan(60);
    for (const rank of all) {
      const buffer = [zeros('float32', [3])];
      await expect(rank.run(sum, buffer, buffer, patient)).rejects.toMatchObject({ code: 'ERR_COLL_ABORTED' });
    }
  });

  it('that closes its communicator ends the wait of all ranks at once and is reported as the cause', async () => {
    const all = ranksOf(2, 2);
    const waiting = all.slice(0, 3).map((rank) => {
      const buffer = [zeros('float32', [3])];
      return rank.run(sum, buffer, buffer, patient).catch((error: unknown) => error);
    });
    await all[3]?.close();
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ code: 'ERR_COLL_CLOSED', rank: 3 });
  });

  it.each<Collective>([{ kind: 'broadcast', root: 1 }, { kind: 'broadcast', root: 2 }, sum, { kind: 'all-gather' }])(
    'may close once it has its result, while other ranks still execute the collective: %j',
    async (collective) => {
      for (const length of [1, 5000]) {
        const all = ranksOf(2, 2);
        const lengthOut = collective.kind === 'all-gather' ? 4 * length : length;
        const ended = all.map(async (rank) => {
          await rank.run(collective, [zeros('float32', [length])], [zeros('float32', [lengthOut])], patient);
          await rank.close();
        });
        await Promise.all(ended);
      }
    },
  );

  it('refuses collectives that it does not support, and all collectives once it is closed', async () => {
    const [first] = ranksOf(2, 2) as [Communicator];
    expect(first.refuses({ kind: 'reduce', op: 'sum', root: 0 }, 'int8')).toMatch(
      /a hierarchical communicator supports .* but not reduce/,
    );
    expect(first.refuses({ kind: 'all-reduce', op: 'mean' }, 'bool')).toMatch(/the mean of bool is not defined/);
    await first.close();
    await first[Symbol.asyncDispose]();
    const buffer = [tensor([1])];
    await expect(first.run({ kind: 'all-reduce', op: 'sum' }, buffer, buffer)).rejects.toMatchObject({
      code: 'ERR_COLL_CLOSED',
    });
  });

  it('refuses communicators within and across workers whose sizes do not match', () => {
    const portable = (size: number) => new ReferenceCommunicator({ size, algorithm: directAlgorithm() });
    expect(() => rankOfWorker(portable(2), { workers: 2, worker: 0 })).toThrow(
      'within must have exactly one local rank, got 2',
    );
    expect(() => rankOfWorker(portable(1), { workers: 2, worker: 0 })).toThrow('exactly the first rank of each worker');
    expect(() => rankOfWorker(portable(1), { workers: 2, worker: 1, across: portable(1) })).toThrow(
      'across has 1 ranks and is rank 0, expected worker 1 of 2',
    );
  });
});
