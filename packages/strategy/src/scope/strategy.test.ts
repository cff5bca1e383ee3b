import {
  AbortedError,
  CommunicationOptions,
  type DType,
  IndexedSlices,
  Mirrored,
  PerReplica,
  type Tensor,
  tensor,
  toNumbers,
} from '@coll/core';
import { describe, expect, it } from 'vitest';
import { cpu } from '../../test/strategies.js';
import { MirroredStrategy, variable } from '../index.js';

const two = new MirroredStrategy({ devices: cpu(2) });
const three = new MirroredStrategy({ devices: cpu(3) });
const first = '/job:localhost/replica:0/task:0/device:CPU:0';

const matrix = (rows: readonly (readonly number[])[], dtype: DType = 'float32') =>
  tensor([...rows.flat()], { dtype, shape: [rows.length, rows[0]?.length ?? 0] });

async function numbersOf(reduced: Promise<unknown>): Promise<{ numbers: number[]; shape: unknown; dtype: DType }> {
  const result = (await reduced) as Tensor;
  return { numbers: toNumbers(result), shape: result.shape, dtype: result.dtype };
}

describe('reduce without an axis', () => {
  const value = new PerReplica([Float32Array.of(1, 2), Float32Array.of(3, 5), Float32Array.of(5, 11)]);

  it('returns a float for the mean of integers, with one replica or two', async () => {
    const float = { numbers: [1, 2], shape: [2], dtype: 'float64' };
    for (const replicas of [1, 2]) {
      await using strategy = new MirroredStrategy({ devices: cpu(replicas) });
      const own = await strategy.run(() => tensor(Int32Array.of(1, 2)));
      expect(await numbersOf(strategy.reduce('mean', own, null))).toEqual(float);
      expect(await numbersOf(strategy.reduce('mean', Int32Array.of(1, 2), null))).toEqual(float);
    }
  });

  it.each([
    ['sum', [9, 18]],
    ['SUM', [9, 18]],
    ['Mean', [3, 6]],
    ['min', [1, 2]],
    ['max', [5, 11]],
    ['product', [15, 110]],
  ] as const)('combines components: %s', async (op, numbers) => {
    const result = await three.reduce(op as 'sum', value, null);
    expect(result).toEqual({ data: Float32Array.from(numbers), dtype: 'float32', shape: [2], device: first });
    expect(await three.reduce(op as 'sum', value, undefined)).toEqual(result);
  });

  it('does not change its inputs', async () => {
    const components = [Float32Array.of(1), Float32Array.of(2)];
    const result = await two.reduce('sum', new PerReplica(components), null);
    result.data.fill(9);
    expect(components).toEqual([Float32Array.of(1), Float32Array.of(2)]);
  });

  it('accepts numbers, tensors and structures', async () => {
    const structure = {
      loss: new PerReplica([1, 2]),
      grads: [new PerReplica([tensor(Int32Array.of(1)), tensor(Int32Array.of(4))])],
    };
    expect(await two.reduce('sum', structure, null)).toMatchObject({
      loss: { data: Float64Array.of(3), shape: [] },
      grads: [{ data: Int32Array.of(5), device: first }],
    });
  });

  it('uses the first component of a mirrored value', async () => {
    const mirrored = new Mirrored([tensor(Float32Array.of(1)), tensor(Float32Array.of(1))]);
    expect(await two.reduce('mean', mirrored, null)).toBe(mirrored.values[0]);
    expect(await two.reduce('mean', { a: mirrored }, null)).toEqual({ a: mirrored.values[0] });
  });

  it('uses a copy of the value of a variable', async () => {
    const made = two.scope(() => variable(Float32Array.of(1)));
    const mean = (await two.reduce('mean', { made }, null)) as { readonly made: Tensor };
    await made.assign([2]);
    expect(toNumbers(mean.made)).toEqual([1]);
  });

  it('sums 64-bit integers exactly, and divides them without truncation', async () => {
    const big = 2n ** 62n + 1n;
    const value = new PerReplica([BigInt64Array.of(big, 3n), BigInt64Array.of(1n, 4n)]);
    expect(await two.reduce('sum', value, null)).toMatchObject({ data: BigInt64Array.of(big + 1n, 7n) });
    expect(await two.reduce('mean', value, null)).toMatchObject({
      dtype: 'float64',
      data: Float64Array.of(2 ** 61, 3.5),
    });
  });

  it('keeps slices sparse: the sum of slices is slices', async () => {
    const slices = (row: number) => new IndexedSlices(tensor(Float32Array.of(row)), Int32Array.of(row), [4]);
    const sum = await two.reduce('sum', new PerReplica([slices(1), slices(3)]), null);
    expect(sum).toBeInstanceOf(IndexedSlices);
    expect([sum.values.data, sum.indices.data]).toEqual([Float32Array.of(1, 3), Int32Array.of(1, 3)]);
  });

  it('is aborted by the signal of its options before it starts', async () => {
    await expect(three.reduce('sum', value, null, { signal: AbortSignal.abort() })).rejects.toThrow(AbortedError);
    await expect(three.reduce('sum', value, 0, { signal: AbortSignal.abort() })).rejects.toThrow(AbortedError);
  });

  it.each([
    { bytesPerPack: 1 },
    { timeoutSeconds: 60 },
    { implementation: 'RING' },
    { checkCalls: true },
    { signal: new AbortController().signal },
    { sharedResult: true },
    { deduplicate: true },
    { options: new CommunicationOptions() },
    { experimentalHints: new CommunicationOptions() },
  ] as const)('accepts the options %o', async (options) => {
    expect(await three.reduce('sum', value, null, options)).toMatchObject({ data: Float32Array.of(9, 18) });
  });

  it.each([
    [{ options: new CommunicationOptions(), experimentalHints: new CommunicationOptions() }, /not both/],
    [{ timeout: 3 }, /unknown option "timeout"; did you mean timeoutSeconds\?/],
    [{ into: value }, /unknown option "into"/],
    [[], /options must be CommunicationOptions or an object with its fields/],
    ['hints', /options must be/],
    [{ options: 5 }, /options must be/],
    [{ timeoutSeconds: 'soon' }, /timeoutSeconds/],
  ])('refuses the options %o', async (options, message) => {
    const reduced = three.reduce('sum', value, null, options as never);
    await expect(reduced).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    await expect(reduced).rejects.toThrow(message);
  });

  it('refuses invalid ops and values', async () => {
    await expect(two.reduce('most' as never, 0, null)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(two.reduce(undefined as never, 0, null)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(two.reduce('sum', 'text', null)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    await expect(two.reduce('sum', new PerReplica([1, 2, 3]), null)).rejects.toThrow(/3 components .* 2 replicas/);
    await expect(two.reduce('sum', new PerReplica(['a', 'b']), null)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(
      two.reduce('sum', new PerReplica([Float32Array.of(1), Float64Array.of(1)]), null),
    ).rejects.toMatchObject({ name: 'InternalError', code: 'ERR_COLL_DTYPE_MISMATCH' });
    await expect(
      two.reduce('sum', new PerReplica([Float32Array.of(1), Float32Array.of(1, 2)]), null),
    ).rejects.toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH' });
  });
});

describe('reduce along axes', () => {
  const value = new PerReplica([
    matrix([
      [1, 2, 3],
      [4, 5, 6],
    ]),
    matrix([
      [10, 20, 30],
      [40, 50, 60],
    ]),
  ]);

  it.each([
    [0, [55, 77, 99], [3]],
    [1, [66, 165], [2]],
    [-1, [66, 165], [2]],
    [-2, [55, 77, 99], [3]],
    [[0, 1], [231], []],
    [[-1, 0], [231], []],
    [[], [11, 22, 33, 44, 55, 66], [2, 3]],
  ] as const)('sums along %j', async (axis, numbers, shape) => {
    expect(await numbersOf(two.reduce('sum', value, axis))).toEqual({ numbers, shape, dtype: 'float32' });
  });

  it('weighs every element equally in a mean over unequal batches', async () => {
    const batches = new PerReplica([matrix([[1], [2], [3]]), matrix([[10]])]);
    expect(await numbersOf(two.reduce('mean', batches, 0))).toMatchObject({ numbers: [4], shape: [1] });
    expect(await numbersOf(two.reduce('mean', batches, [0, 1]))).toMatchObject({ numbers: [4], shape: [] });
    const empty = new PerReplica([matrix([[1], [2]]), tensor(new Float32Array(0), { shape: [0, 1] })]);
    expect(await numbersOf(two.reduce('mean', empty, 0))).toMatchObject({ numbers: [1.5] });
  });

  it('returns floats for the mean of integers', async () => {
    const batches = new PerReplica([Int32Array.of(1, 2), Int32Array.of(4)]);
    expect(await numbersOf(two.reduce('mean', batches, 0))).toEqual({ numbers: [7 / 3], shape: [], dtype: 'float64' });
    expect(await numbersOf(two.reduce('sum', batches, 0))).toEqual({ numbers: [7], shape: [], dtype: 'int32' });
    const bytes = new PerReplica([Uint8Array.of(1), Uint8Array.of(2)]);
    expect(await numbersOf(two.reduce('mean', bytes, 0))).toMatchObject({ numbers: [1.5], dtype: 'float32' });
  });

  it('sums 64-bit integers exactly', async () => {
    const batches = new PerReplica([BigInt64Array.of(2n ** 60n, 1n), BigInt64Array.of(1n)]);
    expect(await two.reduce('sum', batches, 0)).toMatchObject({ data: BigInt64Array.of(2n ** 60n + 2n), shape: [] });
    const none = tensor(new BigUint64Array(0), { shape: [0, 2] });
    expect(await two.reduce('sum', new PerReplica([none, none]), 0)).toMatchObject({ data: new BigUint64Array(2) });
  });

  it('sums floats in float64 and rounds once', async () => {
    const batches = new PerReplica([Float32Array.of(2 ** 24, 1, 1), Float32Array.of(0)]);
    expect(await numbersOf(two.reduce('sum', batches, 0))).toMatchObject({ numbers: [2 ** 24 + 2] });
    const halves = new PerReplica([tensor([1, 2, 3], { dtype: 'bfloat16' }), tensor([4, 5, 6], { dtype: 'bfloat16' })]);
    expect(await numbersOf(two.reduce('mean', halves, 0))).toEqual({ numbers: [3.5], shape: [], dtype: 'bfloat16' });
  });

  it('refuses to sum a value that is not distributed, like without an axis', async () => {
    const bare = matrix([
      [1, 2],
      [3, 4],
    ]);
    const refused = {
      name: 'ValueError',
      message: expect.stringMatching(/^A non-distributed value .* SUM over 2 repl/),
    };
    for (const axis of [null, 0, [0, 1]]) await expect(two.reduce('sum', bare, axis)).rejects.toMatchObject(refused);
    expect(await numbersOf(two.reduce('mean', bare, 0))).toMatchObject({ numbers: [2, 3] });
    expect(await numbersOf(two.reduce('sum', new Mirrored([bare, bare]), [0, 1]))).toMatchObject({ numbers: [20] });
  });

  it('works with one replica', async () => {
    const one = new MirroredStrategy({ devices: cpu(1) });
    expect(await numbersOf(one.reduce('sum', Float32Array.of(1, 2), 0))).toMatchObject({ numbers: [3], shape: [] });
    expect(await numbersOf(one.reduce('mean', new PerReplica([Float32Array.of(1, 2)]), 0))).toMatchObject({
      numbers: [1.5],
    });
  });

  it.each([2, -3, [0, 2], [-3]])('refuses axis %j, which is out of range', async (axis) => {
    await expect(two.reduce('sum', value, axis)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_RANGE' });
    await expect(two.reduce('mean', value, axis)).rejects.toMatchObject({
      code: 'ERR_COLL_RANGE',
      operation: 'reduce',
    });
  });

  it('refuses any axis of a scalar', async () => {
    await expect(two.reduce('sum', new PerReplica([1, 2]), 0)).rejects.toThrow(/axis 0 is out of range for shape \[\]/);
  });

  it.each(['0', 0.5, Number.NaN, true, ['0'], [0, 1.5], {}])(
    'refuses axis %j, which is not an integer',
    async (axis) => {
      const reduced = two.reduce('sum', value, axis as never);
      await expect(reduced).rejects.toBeInstanceOf(TypeError);
      await expect(reduced).rejects.toMatchObject({ code: 'ERR_COLL_TYPE' });
    },
  );

  it.each(['min', 'max', 'product'] as const)('refuses %s along an axis', async (op) => {
    await expect(two.reduce(op, value, 0)).rejects.toBeInstanceOf(TypeError);
  });

  it('refuses the mean of bool', async () => {
    const flags = tensor([1, 0], { dtype: 'bool' });
    await expect(two.reduce('mean', new PerReplica([flags, flags]), 0)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_REFUSED',
      operation: 'reduce',
    });
  });
});

describe('strategy.gather', () => {
  it('concatenates components of different lengths in replica order, on the first device', async () => {
    const value = new PerReplica([matrix([[1], [2]]), matrix([[3]]), matrix([[4], [5]])]);
    const gathered = await three.gather(value, 0);
    expect(gathered).toEqual({ data: Float32Array.of(1, 2, 3, 4, 5), dtype: 'float32', shape: [5, 1], device: first });
    const columns = new PerReplica([matrix([[1, 2]]), matrix([[3]]), matrix([[4]])]);
    expect(await three.gather(columns, 1)).toMatchObject({ shape: [1, 4] });
  });

  it('refuses slices, scalars and axes that are out of range', async () => {
    const slices = new IndexedSlices(tensor(Float32Array.of(1)), Int32Array.of(0));
    await expect(two.gather(slices, 0)).rejects.toMatchObject({
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
    });
    await expect(two.gather(new PerReplica([slices, slices]), 0)).rejects.toMatchObject({
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
    });
    await expect(two.gather(new PerReplica([1, 2]), 0)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
    await expect(two.gather(new PerReplica([Float32Array.of(1), Float32Array.of(2)]), 1)).rejects.toBeInstanceOf(
      RangeError,
    );
    await expect(two.gather(new PerReplica([matrix([[1]]), matrix([[1, 2]])]), 0)).rejects.toMatchObject({
      name: 'InvalidArgumentError',
    });
  });
});

describe('numbers returned by replicas', () => {
  it.each([
    [[3, 4], 7],
    [[3, 3], 6],
    [[0, 0], 0],
    [[Number.NaN, Number.NaN], Number.NaN],
  ])('can be summed, equal or not: %o', async (losses, sum) => {
    const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const results = await strategy.run(({ replicaIdInSyncGroup }) => losses[replicaIdInSyncGroup] as number);
    expect(results).toEqual(new PerReplica(losses));
    expect(await strategy.reduce('SUM', results, null)).toMatchObject({ data: Float64Array.of(sum) });
  });

  it('are a PerReplica as leaves of structures, as bigints and as results of a merge call', async () => {
    const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const results = await strategy.run(async (replica) => {
      const merged = await replica.mergeCall(() => 5);
      return { steps: [2n, 'text'], merged };
    });
    expect(results).toEqual({ steps: [new PerReplica([2n, 2n]), 'text'], merged: new PerReplica([5, 5]) });
  });

  it('are not wrapped with one replica', async () => {
    const strategy = new MirroredStrategy({ devices: ['cpu:0'] });
    expect(await strategy.run(() => 3)).toBe(3);
  });
});

describe('experimentalLocalResults', () => {
  it('lists the components of each leaf in a structure', () => {
    expect(two.experimentalLocalResults(new PerReplica(['a', 'b']))).toEqual(['a', 'b']);
    expect(two.experimentalLocalResults({ x: new PerReplica([1, 2]), y: [new Mirrored([3, 3]), 4] })).toEqual([
      { x: 1, y: [3, 4] },
      { x: 2, y: [3, 4] },
    ]);
  });

  it('returns a list with a single value that is not distributed', () => {
    expect(two.experimentalLocalResults(5)).toEqual([5]);
    expect(two.experimentalLocalResults(undefined)).toEqual([undefined]);
    expect(two.experimentalLocalResults([1, 2])).toEqual([[1, 2]]);
  });
});

describe('experimentalDistributeValuesFromFunction', () => {
  it('wraps the values that the function returns for the replicas, even if they are identical', () => {
    const value = three.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup, numReplicasInSync }) => {
      return [replicaIdInSyncGroup, numReplicasInSync];
    });
    expect(value).toBeInstanceOf(PerReplica);
    expect(value.values).toEqual([
      [0, 3],
      [1, 3],
      [2, 3],
    ]);
    expect(two.experimentalDistributeValuesFromFunction(() => 'same').values).toEqual(['same', 'same']);
    const one = new MirroredStrategy({ devices: cpu(1) });
    expect(one.experimentalDistributeValuesFromFunction(() => 1)).toBeInstanceOf(PerReplica);
    expect(() => two.experimentalDistributeValuesFromFunction(5 as never)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });

  it('can be passed to the replicas of a run by name, with any names', async () => {
    const data = two.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup }) => replicaIdInSyncGroup + 5);
    const kwargs = { dtype: 'float32', data };
    const seen = await two.run((_, named: unknown) => named, { kwargs });
    expect(two.experimentalLocalResults(seen)).toEqual([
      { dtype: 'float32', data: 5 },
      { dtype: 'float32', data: 6 },
    ]);
  });

  it('can be passed to the replicas of a run', async () => {
    const five = two.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup }) => replicaIdInSyncGroup + 5);
    const seen = await two.run((_, value: number) => value, { args: [five] });
    expect(two.experimentalLocalResults(seen)).toEqual([5, 6]);
  });
});
