import { asTensor, Mirrored, PerReplica, tensor, toNumbers } from '@coll/core';
import { combine } from '@coll/core/plugin';
import { describe, expect, it, vi } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { everywhere, held, onRead, rows } from '../../test/variables.js';
import { oneWorker } from '../scope/worker-group.js';

const scatters = [
  'scatterAdd',
  'scatterSub',
  'scatterMul',
  'scatterDiv',
  'scatterMin',
  'scatterMax',
  'scatterUpdate',
] as const;

describe.each([1, 2, 3])('a sync-on-read variable on %i replicas', (replicas) => {
  const strategy = strategyOf(replicas);
  const ids = Array.from({ length: replicas }, (_, id) => id);
  const sum = ids.reduce((total, id) => total + id + 1, 0);

  it('is created with one component per device, not trainable by default', () => {
    const made = onRead(strategy, [1, 2], { aggregation: 'sum' });
    expect(made).toMatchObject({ kind: 'SyncOnReadVariable', isMirrored: false, isVariable: true });
    expect(made).toMatchObject({ synchronization: 'ON_READ', aggregation: 'SUM', trainable: false });
    expect(made.values.map(({ name }) => name)).toEqual(['w', ...ids.slice(1).map((id) => `w/replica_${id}`)]);
    expect(held(made)).toEqual(everywhere(replicas, [1, 2]));
    expect(onRead(strategy, 1, { trainable: true }).trainable).toBe(true);
  });

  it.each(['NONE', 'SUM', 'MEAN', 'ONLY_FIRST_REPLICA'] as const)(
    'is changed and read by each replica separately, with aggregation %s',
    async (aggregation) => {
      const made = onRead(strategy, [1], { aggregation });
      await strategy.run(async ({ replicaIdInSyncGroup: id }) => {
        await made.assignAdd([id]);
        made.assignAddSync([10]);
        made.assignSubSync([1]);
        await made.assignSub([1]);
        expect([toNumbers(made.read()), toNumbers(asTensor(made))]).toEqual([[id + 9], [id + 9]]);
        await made.assign([id + 1]);
      });
      expect(held(made)).toEqual(ids.map((id) => [id + 1]));
    },
  );

  it.each([
    ['SUM', sum],
    ['MEAN', sum / replicas],
    ['ONLY_FIRST_REPLICA', 1],
  ] as const)('is read across replicas with aggregation %s', async (aggregation, expected) => {
    const made = onRead(strategy, [0], { aggregation });
    await strategy.run(({ replicaIdInSyncGroup: id }) => made.assign([id + 1]));
    for (const read of [
      made.read(),
      asTensor(made),
      await strategy.extended.readVar(made),
      strategy.scope(() => made.read()),
    ])
      expect(read).toMatchObject({
        data: Float32Array.of(expected),
        dtype: 'float32',
        shape: [1],
        device: made.devices[0],
      });
    (made.read().data as Float32Array).fill(99);
    (asTensor(made).data as Float32Array).fill(99);
    expect(toNumbers(made.read())).toEqual([expected]);
  });

  it('has no value across replicas with aggregation NONE', async () => {
    const made = onRead(strategy, [0]);
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'read' };
    expect(() => made.read()).toThrow(expect.objectContaining(refused));
    expect(() => asTensor(made)).toThrow(
      /^variable "w" has no value across replicas: the aggregation "NONE" has no reduce op/,
    );
    await expect(strategy.extended.readVar(made)).rejects.toMatchObject({ name: 'ValueError' });
  });

  it('divides an assigned value by the number of replicas for SUM, across replicas', async () => {
    const made = onRead(strategy, [0, 0], { aggregation: 'sum' });
    await made.assign([6, 3]);
    expect(held(made)).toEqual(everywhere(replicas, [Math.fround(6 / replicas), Math.fround(3 / replicas)]));
    expect(toNumbers(made.read())).toEqual([6, 3]);
    const counts = onRead(strategy, Int32Array.of(0), { aggregation: 'sum', dtype: 'int32' });
    counts.assignSync(Int32Array.of(-7));
    expect(held(counts)).toEqual({ 1: [[-7]], 2: [[-4], [-3]], 3: [[-3], [-2], [-2]] }[replicas]);
    const large = onRead(strategy, BigInt64Array.of(0n), { aggregation: 'sum', dtype: 'int64' });
    large.assignSync(BigInt64Array.of(2n ** 62n + 1n));
    expect(large.read().data).toEqual(BigInt64Array.of(2n ** 62n + 1n));
    if (replicas === 1) return;
    await made.assign(new Mirrored(ids.map(() => Float32Array.of(12, 6))));
    expect(toNumbers(made.read())).toEqual([12, 6]);
  });

  it.each(['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'] as const)(
    'reads the %s that it was restored to, for SUM',
    async (dtype) => {
      const made = onRead(strategy, 0, { aggregation: 'sum', dtype });
      for (const count of dtype.startsWith('u') ? [0, 5, 7] : [0, 5, -5, 7]) {
        await made.assign(count);
        expect(toNumbers(made.read())).toEqual([count]);
        await made.assign(made.read());
        expect(toNumbers(made.read())).toEqual([count]);
      }
      const other = onRead(strategy, 0, { aggregation: 'sum', dtype });
      await other.assign(made);
      expect(toNumbers(other.read())).toEqual([7]);
    },
  );

  it.each([
    ['NONE', 'assign', [5]],
    ['MEAN', 'assign', [5]],
    ['ONLY_FIRST_REPLICA', 'assign', [5]],
    ['NONE', 'assignAdd', [7]],
    ['MEAN', 'assignAdd', [7]],
    ['ONLY_FIRST_REPLICA', 'assignAdd', [7]],
    ['NONE', 'assignSub', [-3]],
    ['MEAN', 'assignSub', [-3]],
    ['ONLY_FIRST_REPLICA', 'assignSub', [-3]],
  ] as const)(
    'applies one value to every component across replicas, with aggregation %s: %s',
    async (aggregation, method, expected) => {
      const made = onRead(strategy, [2], { aggregation });
      await made[method]([5]);
      expect(held(made)).toEqual(everywhere(replicas, expected));
      expect(strategy.scope(() => made[`${method}Sync`]([0]))).toBe(made);
    },
  );

  it.each(['assignAdd', 'assignSub'] as const)('refuses %s across replicas with aggregation SUM', async (method) => {
    const made = onRead(strategy, [2], { aggregation: 'sum' });
    const error = {
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: method },
      message: expect.stringContaining('across replicas for aggregation SUM'),
    };
    await expect(made[method]([5])).rejects.toMatchObject(error);
    expect(() => made[`${method}Sync`]([5])).toThrow(expect.objectContaining(error));
    expect(held(made)).toEqual(everywhere(replicas, [2]));
  });

  it('refuses a PerReplica value across replicas', async () => {
    const value = new PerReplica(ids.map((id) => Float32Array.of(id)));
    for (const aggregation of ['NONE', 'SUM', 'MEAN'] as const)
      await expect(onRead(strategy, [2], { aggregation }).assign(value)).rejects.toBeInstanceOf(TypeError);
  });

  it.each(scatters)('refuses %s, in replicas and across them', async (method) => {
    for (const aggregation of ['NONE', 'SUM'] as const) {
      const made = onRead(strategy, [2], { aggregation });
      const refused = { name: 'NotImplementedError', code: 'ERR_COLL_NOT_IMPLEMENTED', operation: method };
      await expect(made[method](rows([1], [0]))).rejects.toMatchObject(refused);
      await expect(strategy.run(() => made[method](rows([1], [0])))).rejects.toMatchObject(refused);
      expect(() => made[`${method}Sync`](rows([1], [0]))).toThrow(expect.objectContaining(refused));
    }
  });

  it('is reduced like a value with one component per replica', async () => {
    const made = onRead(strategy, [0], { aggregation: 'mean' });
    await strategy.run(({ replicaIdInSyncGroup: id }) => made.assign([id + 1]));
    expect(toNumbers(await strategy.reduce('sum', made, null))).toEqual([sum]);
    expect(strategy.experimentalLocalResults(made).map((component) => toNumbers(component.read()))).toEqual(
      ids.map((id) => [id + 1]),
    );
  });

  it('returns a component from get() across replicas only with aggregation ONLY_FIRST_REPLICA', () => {
    expect(onRead(strategy, [0], { aggregation: 'only_first_replica' }).get().name).toBe('w');
    expect(() => onRead(strategy, [0], { aggregation: 'sum' }).get()).toThrow(
      expect.objectContaining({ name: 'NotImplementedError', code: 'ERR_COLL_NOT_IMPLEMENTED' }),
    );
  });

  it('adds up the counts of all replicas with aggregation SUM', async () => {
    const seen = onRead(strategy, 0, { aggregation: 'sum', dtype: 'int32' });
    for (let step = 0; step < 3; step++)
      await strategy.run(({ replicaIdInSyncGroup: id }) =>
        seen.assignAdd(tensor([id + 1], { dtype: 'int32', shape: [] })),
      );
    expect(toNumbers(seen.read())).toEqual([3 * sum]);
  });
});

it('an error names the method that is called while another strategy is current', () => {
  const [one, other] = [strategyOf(2), strategyOf(2)];
  const made = one.extended.createVariable([1], { synchronization: 'ON_READ', aggregation: 'SUM' });
  const refused = expect.objectContaining({ code: 'ERR_COLL_CONTEXT', operation: 'read' });
  expect(() => other.scope(() => made.read())).toThrow(refused);
  expect(() => other.scope(() => asTensor(made))).toThrow(refused);
});

it('rounds the mean of half types over several workers only once', () => {
  const strategy = strategyOf(1);
  vi.spyOn(strategy, 'numReplicasInSync', 'get').mockReturnValue(2);
  vi.spyOn(strategy.extended, 'workers', 'get').mockReturnValue({
    ...oneWorker,
    size: 2,
    allReduceSync: (_, value) => combine('sum', [value, value]),
  });
  const made = onRead(strategy, [60_000], { aggregation: 'mean', dtype: 'float16' });
  expect([made.read().dtype, toNumbers(made.read())]).toEqual(['float16', [60_000]]);
});
