import { asTensor, Mirrored, PerReplica, tensor, toNumbers } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { everywhere, held, mirrored, rows } from '../../test/variables.js';
import type { MirroredVariable, ReplicaContext } from '../index.js';

describe.each([1, 2, 3])('a mirrored variable on %i replicas', (replicas) => {
  const strategy = strategyOf(replicas);
  const ids = Array.from({ length: replicas }, (_, id) => id);
  const sum = ids.reduce((total, id) => total + id + 1, 0);
  const own = ({ replicaIdInSyncGroup }: ReplicaContext) => Float32Array.of(replicaIdInSyncGroup + 1, 10);

  it('is created with one component per device, named after the replica, each in its own memory', () => {
    const initial = Float32Array.of(1, 2);
    const made = mirrored(strategy, initial);
    initial.fill(9);
    expect(made.values.map(({ name }) => name)).toEqual(['w', ...ids.slice(1).map((id) => `w/replica_${id}`)]);
    expect(made.devices).toEqual(strategy.extended.workerDevices);
    expect(made).toMatchObject({ name: 'w', dtype: 'float32', shape: [2], trainable: true });
    expect([made.synchronization, made.aggregation]).toEqual(['ON_WRITE', 'NONE']);
    expect(held(made)).toEqual(everywhere(replicas, [1, 2]));
    expect(new Set(made.values.map((component) => asTensor(component).data.buffer)).size).toBe(replicas);
  });

  it.each([
    ['assign', 'NONE', [5, 6]],
    ['assignAdd', 'SUM', [6, 8]],
    ['assignSub', 'MEAN', [-4, -4]],
    ['assign', 'ONLY_FIRST_REPLICA', [5, 6]],
  ] as const)(
    'is changed in every component at once by %s across replicas, with aggregation %s',
    (method, aggregation, expected) => {
      const made = mirrored(strategy, [1, 2], { aggregation });
      for (const value of [Float32Array.of(5, 6), [5, 6], tensor([5, 6], { dtype: 'float32' })]) {
        made.assignSync([1, 2]);
        const change = made[method](value);
        expect(held(made)).toEqual(everywhere(replicas, expected));
        void change;
      }
      expect(strategy.scope(() => made[`${method}Sync`]([0, 0]))).toBe(made);
    },
  );

  it('accepts, across replicas, a Mirrored value component by component, but no PerReplica value', async () => {
    const made = mirrored(strategy, [0]);
    if (replicas === 1) return;
    await made.assign(new Mirrored(ids.map((id) => Float32Array.of(id))));
    expect(held(made)).toEqual(ids.map((id) => [id]));
    const value = new PerReplica(ids.map((id) => Float32Array.of(id)));
    await expect(made.assign(value)).rejects.toMatchObject({
      code: 'ERR_COLL_TYPE',
      operation: 'assign',
      message: expect.stringContaining('takes one value for all replicas, got a PerReplica'),
    });
    expect(() => made.assignAddSync(value)).toThrow(TypeError);
    await expect(made.assign(new Mirrored([Float32Array.of(1)]))).rejects.toMatchObject({ code: 'ERR_COLL_RANGE' });
  });

  it('accepts itself and other variables as values', async () => {
    const [made, other] = [mirrored(strategy, [1, 2]), mirrored(strategy, [10, 20])];
    await made.assignAdd(made);
    expect(held(made)).toEqual(everywhere(replicas, [2, 4]));
    await made.assignAdd(asTensor(made));
    expect(held(made)).toEqual(everywhere(replicas, [4, 8]));
    await made.assign(other);
    expect(held(made)).toEqual(everywhere(replicas, [10, 20]));
    await made.assignAdd(other.primary);
    expect(held(made)).toEqual(everywhere(replicas, [20, 40]));
  });

  it('changes only the component of the replica that makes the change, with aggregation NONE', async () => {
    const made = mirrored(strategy, [1, 1]);
    await strategy.run(async (replica) => {
      made.assignAddSync(own(replica));
      await made.assignSub([1, 0]);
      expect(toNumbers(made.read())).toEqual([replica.replicaIdInSyncGroup + 1, 11]);
    });
    expect(held(made)).toEqual(ids.map((id) => [id + 1, 11]));
  });

  it.each([
    ['assign', 'SUM', [sum, 10 * replicas]],
    ['assignAdd', 'SUM', [sum + 1, 10 * replicas + 2]],
    ['assignSub', 'SUM', [1 - sum, 2 - 10 * replicas]],
    ['assign', 'MEAN', [sum / replicas, 10]],
    ['assignAdd', 'MEAN', [sum / replicas + 1, 12]],
    ['assignSub', 'MEAN', [1 - sum / replicas, -8]],
    ['assign', 'ONLY_FIRST_REPLICA', [1, 10]],
    ['assignAdd', 'ONLY_FIRST_REPLICA', [2, 12]],
    ['assignSub', 'ONLY_FIRST_REPLICA', [0, -8]],
  ] as const)(
    'is changed in every component by %s in replicas, whose values are combined with %s',
    async (method, aggregation, expected) => {
      const made = mirrored(strategy, [1, 2], { aggregation });
      await strategy.run(async (replica) => {
        expect(await made[method](own(replica))).toBe(made);
        expect(toNumbers(made.read())).toEqual(expected);
      });
      expect(held(made)).toEqual(everywhere(replicas, expected));
    },
  );

  it.each([
    ['SUM', sum],
    ['MEAN', sum / replicas],
    ['ONLY_FIRST_REPLICA', 1],
  ] as const)(
    'combines different plain numbers of the replicas with %s, in the dtype of the variable',
    async (aggregation, expected) => {
      const made = mirrored(strategy, 0, { aggregation });
      await strategy.run(({ replicaIdInSyncGroup }) => made.assign(replicaIdInSyncGroup + 1));
      expect(made.read()).toMatchObject({ dtype: 'float32', shape: [] });
      expect(held(made)).toEqual(everywhere(replicas, [expected]));
    },
  );

  it('accepts the same number on all replicas for MEAN, and refuses it for SUM on several', async () => {
    const mean = mirrored(strategy, 0, { aggregation: 'mean' });
    await strategy.run(() => mean.assign(4));
    expect(held(mean)).toEqual(everywhere(replicas, [4]));
    const total = mirrored(strategy, 1, { aggregation: 'sum' });
    await strategy.run(() => total.assign(0));
    expect(held(total)).toEqual(everywhere(replicas, [0]));
    const summed = strategy.run(() => total.assign(4));
    if (replicas === 1) await summed;
    else
      await expect(summed).rejects.toMatchObject({
        name: 'ValueError',
        message: expect.stringContaining('cannot be reduced with the given reduce op SUM'),
      });
    expect(held(total)).toEqual(everywhere(replicas, [replicas === 1 ? 4 : 0]));
  });

  it.each([
    ['scatterAdd', [5, 2, 13]],
    ['scatterSub', [-3, 2, -7]],
    ['scatterMul', [3, 2, 30]],
    ['scatterDiv', [1 / 3, 2, 0.3]],
    ['scatterMin', [1, 2, 3]],
    ['scatterMax', [3, 2, 10]],
    ['scatterUpdate', [1, 2, 10]],
  ] as const)(
    'is changed by %s in the order of the given rows, across replicas and inside them',
    async (method, expected) => {
      // Changes row 0 twice.
      const slices = rows([3, 1, 10], [0, 0, 2]);
      const close = expected.map((number) => expect.closeTo(number, 5));
      const across = mirrored(strategy, [1, 2, 3]);
      await across[method](slices);
      const atOnce = mirrored(strategy, [1, 2, 3])[`${method}Sync`](slices);
      for (const made of [across, atOnce]) expect(held(made)).toEqual(everywhere(replicas, close));
      for (const aggregation of ['NONE', 'ONLY_FIRST_REPLICA'] as const) {
        const made = mirrored(strategy, [1, 2, 3], { aggregation });
        await strategy.run(({ replicaIdInSyncGroup: id }) =>
          made[method](id === 0 || aggregation === 'NONE' ? slices : rows([7], [1])),
        );
        expect(held(made)).toEqual(everywhere(replicas, close));
      }
    },
  );

  it.each([
    ['SUM', 'scatterAdd', [1 + sum, 2 + 10 * replicas]],
    ['SUM', 'scatterSub', [1 - sum, 2 - 10 * replicas]],
    ['SUM', 'scatterMul', [ids.reduce((product, id) => product * (id + 1), 1), 2 * 10 ** replicas]],
    ['MEAN', 'scatterAdd', [1 + sum / replicas, 12]],
  ] as const)(
    'combines the rows that replicas scatter by aggregation %s: %s',
    async (aggregation, method, expected) => {
      const made = mirrored(strategy, [1, 2], { aggregation });
      await strategy.run(({ replicaIdInSyncGroup }) => made[method](rows([replicaIdInSyncGroup + 1, 10], [0, 1])));
      expect(held(made)).toEqual(
        everywhere(
          replicas,
          expected.map((number) => expect.closeTo(number, 4)),
        ),
      );
    },
  );

  it.each(['scatterMin', 'scatterMax', 'scatterUpdate'] as const)(
    'refuses %s with aggregation SUM and MEAN, in replicas and across them',
    async (method) => {
      for (const aggregation of ['SUM', 'MEAN'] as const) {
        const made = mirrored(strategy, [1, 2], { aggregation });
        const refused = { name: 'NotImplementedError', code: 'ERR_COLL_NOT_IMPLEMENTED', operation: method };
        await expect(made[method](rows([1], [0]))).rejects.toMatchObject(refused);
        await expect(strategy.run(() => made[method](rows([1], [0])))).rejects.toMatchObject(refused);
        expect(held(made)).toEqual(everywhere(replicas, [1, 2]));
      }
    },
  );

  it("returns from read() the replica's own component in a replica, and the first component outside", async () => {
    const made = mirrored(strategy, [0]);
    await strategy.run(({ replicaIdInSyncGroup: id }) => made.assign([id + 1]));
    const read = await strategy.run(() => ({ copy: made.read(), tensor: asTensor(made), device: made.get().device }));
    for (const [id, { copy, tensor: view, device }] of strategy.experimentalLocalResults(read).entries()) {
      expect([toNumbers(copy), toNumbers(view)]).toEqual([[id + 1], [id + 1]]);
      expect([copy.device, device]).toEqual([made.devices[id], made.devices[id]]);
    }
    expect(toNumbers(made.read())).toEqual([1]);
    expect(strategy.scope(() => toNumbers(asTensor(made)))).toEqual([1]);
    expect(toNumbers(made.getOnDeviceOrPrimary(made.devices.at(-1)).read())).toEqual([replicas]);
    expect(made.getOnDeviceOrPrimary('gpu:7')).toBe(made.primary);
  });

  it('can be passed to collectives and to reduce as one value', async () => {
    const made = mirrored(strategy, [1, 2], { aggregation: 'sum' });
    const total = await strategy.run((replica) => replica.allReduce('sum', { weights: made }));
    for (const { weights } of strategy.experimentalLocalResults(total))
      expect(toNumbers(weights)).toEqual([replicas, 2 * replicas]);
    expect(await strategy.extended.reduceTo('mean', made, made)).toBe(made);
    await expect(strategy.extended.reduceTo('sum', made, made)).rejects.toThrow(/already reduced/);
  });

  it('can be the destination of a reduce, which does not change the variable', async () => {
    const made = mirrored(strategy, [7]);
    const value = new PerReplica(ids.map((id) => Float32Array.of(id + 1)));
    const reduced = await strategy.extended.reduceTo('sum', value, made);
    const components = replicas === 1 ? [reduced] : (reduced as Mirrored).values;
    expect(components).toMatchObject(ids.map((id) => ({ data: Float32Array.of(sum), device: made.devices[id] })));
    expect(await strategy.extended.reduceTo('sum', value, made.primary)).toMatchObject({ device: made.devices[0] });
    expect(held(made)).toEqual(everywhere(replicas, [7]));
  });

  it('is passed to replicas and returned from them as the same object', async () => {
    const made = mirrored(strategy, [7]);
    const back = await strategy.run(
      (_, given: MirroredVariable, { nested }: { nested: MirroredVariable }) => {
        expect([given, nested]).toEqual([made, made]);
        return { whole: given, component: given.get() };
      },
      { args: [made], kwargs: { nested: made } },
    );
    expect(back).toEqual({ whole: made, component: made });
    expect((back as { component: unknown }).component).toBe(made);
    expect(strategy.experimentalLocalResults(made)).toEqual(made.values);
  });
});
