import { asTensor, IndexedSlices, type Tensor, tensor, toNumbers } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { held, mirrored, rows } from '../../test/variables.js';
import { variable } from '../index.js';

describe('a mirrored variable', () => {
  const two = strategyOf(2);

  it('refuses an invalid value before any component changes', async () => {
    const made = mirrored(two, [1, 2], { aggregation: 'mean' });
    const bad: readonly [unknown, RegExp][] = [
      [5, /assign of variable "w": values must have shape \[2\], got \[\]/],
      [[1], /got \[1\]/],
      [Float64Array.of(1, 2), /values must be float32, got float64/],
      [rows([1], [0]), /the value must be dense; pass indexed slices to its scatter methods/],
      ['text', /the value must be a tensor/],
      [undefined, /the value must be a tensor/],
    ];
    for (const [value, message] of bad) {
      await expect(made.assign(value as never)).rejects.toThrow(message);
      expect(() => made.assignSync(value as never)).toThrow(message);
      await expect(two.run(() => made.assign(value as never))).rejects.toThrow(message);
    }
    expect(held(made)).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it.each([
    ['a missing row', rows([1], [2]), 'the variable has 2 rows and no row 2'],
    ['a negative row', rows([1], [-1]), 'no row -1'],
    [
      'rows of another shape',
      new IndexedSlices(tensor([1, 2], { dtype: 'float32', shape: [1, 2] }), Int32Array.of(0)),
      'rows must have shape []',
    ],
    ['another dtype', new IndexedSlices(Float64Array.of(1), Int32Array.of(0)), 'got float64'],
  ])('refuses to scatter %s', async (_, slices, message) => {
    const made = mirrored(two, [1, 2]);
    await expect(made.scatterAdd(slices)).rejects.toMatchObject({
      name: 'ValueError',
      message: expect.stringContaining(message),
    });
    expect(held(made)).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it('refuses to scatter a dense value, or slices into a scalar', async () => {
    await expect(mirrored(two, [1]).scatterAdd(Float32Array.of(1) as never)).rejects.toBeInstanceOf(TypeError);
    await expect(mirrored(two, 1).scatterAdd(rows([1], [0]))).rejects.toThrow('a scalar has no rows to scatter to');
  });

  it('can be scattered into itself: its rows are read before any of them changes', async () => {
    const swapped = mirrored(two, [1, 2]);
    await swapped.scatterUpdate(new IndexedSlices(swapped, Int32Array.of(1, 0)));
    expect(held(swapped)).toEqual([
      [2, 1],
      [2, 1],
    ]);
    await two.run(() => swapped.scatterUpdate(new IndexedSlices(swapped, Int32Array.of(1, 0))));
    await swapped.scatterAdd(new IndexedSlices(swapped, Int32Array.of(1, 1)));
    expect(held(swapped)).toEqual([
      [1, 5],
      [1, 5],
    ]);
  });

  it('refuses synchronous changes if replicas share a thread', async () => {
    const made = mirrored(two, [1], { aggregation: 'mean' });
    for (const method of ['assignSync', 'assignAddSync', 'assignSubSync'] as const)
      await expect(two.run(() => made[method]([1]))).rejects.toMatchObject({
        name: 'RuntimeError',
        code: 'ERR_COLL_CONTEXT',
        operation: method.replace('Sync', ''),
        message: expect.stringContaining('would block the thread that all replicas share: await assign'),
      });
  });

  it('detects replicas that change different variables, or in different ways', async () => {
    const [one, other] = [mirrored(two, [1], { aggregation: 'sum' }), mirrored(two, [1], { aggregation: 'sum' })];
    const different = two.run(({ replicaIdInSyncGroup: id }) => (id === 0 ? one : other).assign(Float32Array.of(1)));
    await expect(different).rejects.toMatchObject({
      ...{ name: 'InternalError', code: 'ERR_COLL_MISMATCH', operation: 'mergeCall' },
      message: expect.stringContaining('replicas change different variables'),
    });
    const differently = two.run(({ replicaIdInSyncGroup: id }) =>
      id === 0 ? one.assign(Float32Array.of(1)) : one.assignAdd(Float32Array.of(1)),
    );
    await expect(differently).rejects.toMatchObject({ code: 'ERR_COLL_MISMATCH' });
    const oneOnly = two.run(({ replicaIdInSyncGroup: id }) => (id === 0 ? one.assign(Float32Array.of(1)) : undefined));
    await expect(oneOnly).rejects.toThrow(/different numbers of collectives/);
  });

  it('refuses to be used while another strategy is current', async () => {
    const made = mirrored(two, [1]);
    const other = strategyOf(2);
    const uses: (readonly [operation: string, () => unknown])[] = [
      ['get', () => made.read()],
      ['get', () => asTensor(made)],
      ['assign', () => made.assignSync([2])],
      ['get', () => made.get()],
      ['getOnDeviceOrPrimary', () => made.getOnDeviceOrPrimary('cpu:0')],
    ];
    for (const [operation, use] of uses) {
      const message = expect.stringMatching(`^Mixing different strategies: ${operation} of`);
      expect(() => other.scope(use)).toThrow(expect.objectContaining({ operation, message }));
      await expect(other.run(use)).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' });
    }
  });

  it('combines bfloat16 and int64 values of replicas exactly', async () => {
    const half = mirrored(two, [1, 2], { dtype: 'bfloat16', aggregation: 'mean' });
    await two.run(({ replicaIdInSyncGroup: id }) => half.assignAdd(tensor([id, 1], { dtype: 'bfloat16' })));
    expect(held(half)[1]).toEqual([1.5, 3]);
    const counts = two.scope(() => variable(BigInt64Array.of(2n ** 60n, 1n), { aggregation: 'sum' }));
    await two.run(() => counts.assignSub(BigInt64Array.of(1n, 1n)));
    expect(counts.read().data).toEqual(BigInt64Array.of(2n ** 60n - 2n, -1n));
  });

  it('prints its components', () => {
    expect(`${mirrored(two, [1, 2])}`).toBe(
      `MirroredVariable:{\n${[0, 1]
        .map((id) => `  ${id}: Variable "w${id ? '/replica_1' : ''}" float32 [2] on ${two.extended.workerDevices[id]}`)
        .join(',\n')}\n}`,
    );
  });

  it('returns copies from read, and its memory when used as a tensor', () => {
    const made = mirrored(two, [1]);
    const [copy, memory] = [made.read(), asTensor(made) as Tensor];
    made.assignSync([5]);
    expect([toNumbers(copy), toNumbers(memory)]).toEqual([[1], [5]]);
  });
});
