import assert from 'node:assert/strict';
import {
  type CrossDeviceOps,
  deduplicate,
  dtypes,
  IndexedSlices,
  PerReplica,
  type ProcessGroup,
  ReduceOp,
  type ReplicaGroup,
  type Tensor,
  tensor,
  zeros,
} from '@coll/core';
import { combine, concatAlong } from '@coll/core/plugin';
import { acrossWorkers, CollectiveAllReduce, CollectiveKeys } from '@coll/multi-worker';
import { RingAllReduce } from '@coll/ring';
import { specScenarios } from './spec-scenarios.ts';
import {
  assertAlike,
  assertClose,
  componentOf,
  componentsOf,
  denseOf,
  devicesOf,
  everyone,
  mine,
  type Scenario,
} from './worker-values.ts';

const { SUM, MEAN, MAX } = ReduceOp;

async function withOps(
  group: ProcessGroup,
  counts: readonly number[],
  check: (ops: CrossDeviceOps, count: number, title: string) => Promise<void>,
): Promise<void> {
  for (const count of counts) {
    const devices = devicesOf(group.rank, count);
    for (const implementation of ['AUTO', 'RING'] as const) {
      await using ops = new CollectiveAllReduce(devices, count * group.size, { group, implementation });
      await check(ops, count, `${implementation}, ${count} devices a worker`);
    }
    const plugin = acrossWorkers((world) => new RingAllReduce({}, world), { group, devices });
    if (group.executesBy !== undefined) {
      await assert.rejects(plugin, { code: 'ERR_COLL_REFUSED', message: new RegExp(`^${group.executesBy} executes`) });
      continue;
    }
    await using ops = await plugin;
    await check(ops, count, `plug-in, ${count} devices a worker`);
  }
}

/** What workers do, after which their group goes on. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...specScenarios,
  'refuses calls that were aborted before they started, and remains usable': (group) =>
    withOps(group, [1, 2], async (ops, count, title) => {
      const all = denseOf(group, count, 5);
      const value = mine(group, count, all);
      const call = ops.reduce(SUM, value, value, { signal: AbortSignal.abort(new Error('enough')) });
      await assert.rejects(call, { code: 'ERR_COLL_ABORTED' }, title);
      const results = componentsOf(await ops.reduce(SUM, value, value));
      for (const result of results) assertClose(title, result, combine('sum', all));
    }),
  'reduces every dtype with every op': (group) =>
    withOps(group, [1, 2], async (ops, count, title) => {
      for (const op of [SUM, MEAN, MAX]) {
        for (const dtype of dtypes.filter((each) => op !== MEAN || each !== 'bool')) {
          for (const length of [0, 1, 33]) {
            const all = denseOf(group, count, length, dtype);
            const value = mine(group, count, all);
            const results = componentsOf(await ops.reduce(op, value, value));
            const wanted = combine(op.toLowerCase() as 'sum', all);
            assert.deepEqual(
              results.map(({ device }) => device),
              value.devices,
              title,
            );
            for (const result of results) assertClose(`${title}: ${op} of ${length} ${dtype}`, result, wanted);
            assert.deepEqual(
              results.map(({ data }) => data),
              results.map(() => results[0]?.data),
              title,
            );
            if (length === 33) await assertAlike(group, `${title}: ${op} of ${dtype}`, [results[0] as Tensor]);
          }
        }
      }
    }),

  'reduces a batch of several dtypes, in packs of any size, in its order': (group) =>
    withOps(group, [1, 2], async (ops, count, title) => {
      const kinds = [
        [3, 'float32'],
        [40, 'int32'],
        [0, 'float32'],
        [17, 'float64'],
        [1, 'float16'],
        [65, 'float32'],
      ] as const;
      const batch = kinds.map(([length, dtype], seed) => denseOf(group, count, length, dtype, seed));
      for (const bytesPerPack of [0, 1, 100, 1 << 20]) {
        const pairs = batch.map((all) => [mine(group, count, all), mine(group, count, all)] as const);
        const results = await ops.batchReduce(SUM, pairs, { bytesPerPack });
        results.forEach((result, index) => {
          const wanted = combine('sum', batch[index] as Tensor[]);
          for (const component of componentsOf(result)) assertClose(`${title}: ${index}`, component, wanted);
        });
      }
    }),

  'returns results on other devices, and in the memory passed as into': (group) =>
    withOps(group, [1, 2], async (ops, count, title) => {
      const all = denseOf(group, count, 9);
      const value = mine(group, count, all);
      const wanted = combine('sum', all);
      for (const to of [['cpu:7'], ['cpu:8', value.devices[0] as string], devicesOf(group.rank, count).toReversed()]) {
        const results = componentsOf(await ops.reduce(SUM, value, to));
        assert.equal(results.length, to.length, title);
        for (const result of results) assertClose(`${title}: to ${to}`, result, wanted);
      }
      const batch = await ops.batchReduce(SUM, [
        [value, 'cpu:9'],
        [value, value],
      ]);
      for (const result of batch.flatMap(componentsOf))
        assertClose(`${title}: a batch to several places`, result, wanted);
      const into = value.values.map(({ device }) => zeros('float32', [9], device));
      const memory = count === 1 ? (into[0] as Tensor) : new PerReplica(into);
      await ops.reduce(SUM, value, value, { into: memory });
      for (const result of into) assertClose(`${title}: into`, result, wanted);
    }),

  'gathers values of different lengths along any axis': (group) =>
    withOps(group, [1, 2], async (ops, count, title) => {
      for (const axis of [0, 1]) {
        for (const rows of [1, 3000]) {
          const all = everyone(group, count, (rank, device) => {
            const along = rows * (rank + 1);
            const shape = axis === 0 ? [along, 3] : [3, along];
            return { ...componentOf(rank, device, 3 * along), shape };
          });
          const value = mine(group, count, all);
          const results = componentsOf(await ops.gather(value, value, axis));
          for (const result of results) assert.deepEqual(result.data, concatAlong(all, axis).data, title);
          const [elsewhere] = componentsOf(await ops.gather(value, 'cpu:5', axis));
          assert.deepEqual(elsewhere?.data, concatAlong(all, axis).data, title);
        }
      }
    }),

  'concatenates sparse values of equal and of different lengths': (group) =>
    withOps(group, [1, 2], async (ops, count, title) => {
      for (const rowsOf of [() => 2, (rank: number) => rank, (rank: number) => 900 * (rank + 1)]) {
        const slices = Array.from({ length: group.size * count }, (_, rank) => {
          const rows = rowsOf(rank);
          const device = devicesOf(Math.floor(rank / count), count)[rank % count] as string;
          const values = { ...componentOf(rank, device, rows * 2), shape: [rows, 2] };
          return new IndexedSlices(
            values,
            tensor(
              Int32Array.from({ length: rows }, (_, row) => (row + rank) % 4),
              { device },
            ),
            [4, 2],
          );
        });
        const value = mine(group, count, slices);
        const joined = concatAlong(
          slices.map(({ values }) => values),
          0,
        );
        const indices = concatAlong(
          slices.map((item) => item.indices),
          0,
        );
        for (const op of [SUM, MEAN]) {
          const results = componentsOf(await ops.reduce(op, value, value)) as unknown as readonly IndexedSlices[];
          const divisor = op === MEAN ? slices.length : 1;
          const wanted = { ...joined, data: (joined.data as Float32Array).map((number) => number / divisor) };
          for (const result of results) {
            assertClose(`${title}: ${op} of slices`, result.values, wanted);
            assert.deepEqual(result.indices.data, indices.data, title);
          }
          const [unique] = componentsOf(
            await ops.reduce(op, value, value, { deduplicate: true }),
          ) as unknown as readonly IndexedSlices[];
          assertClose(
            `${title}: deduplicated`,
            unique?.values,
            deduplicate(new IndexedSlices(wanted, indices, [4, 2])).values,
          );
        }
      }
    }),

  'reduces dense and sparse values of a batch': (group) =>
    withOps(group, [2], async (ops, count, title) => {
      const all = denseOf(group, count, 4);
      const value = mine(group, count, all);
      const sparse = new PerReplica(
        value.values.map((item) => new IndexedSlices({ ...item, shape: [2, 2] }, tensor(Int32Array.of(0, 1)), [2, 2])),
      );
      const mixed = new PerReplica([
        { ...(value.values[0] as Tensor), shape: [2, 2] },
        sparse.values[1] as IndexedSlices,
      ]);
      const [dense, slices, both] = await ops.batchReduce(SUM, [
        [value, value],
        [sparse, sparse],
        [mixed, value],
      ]);
      const wanted = combine('sum', all);
      for (const result of componentsOf(dense)) assertClose(title, result, wanted);
      for (const result of componentsOf(both)) assertClose(title, result, { ...wanted, shape: [2, 2] });
      assert.equal((componentsOf(slices)[0] as unknown as IndexedSlices).indices.data.length, 4 * group.size, title);
    }),

  'executes concurrent calls without mixing their values': async (group) => {
    await using ops = new CollectiveAllReduce(devicesOf(group.rank, 2), 2 * group.size, { group });
    await using host = new CollectiveAllReduce(devicesOf(group.rank, 1), group.size, { group });
    const alls = [0, 1, 2, 3, 4].map((seed) => denseOf(group, 2, 50, 'float32', seed));
    const singles = denseOf(group, 1, 50, 'float32', 9);
    const results = await Promise.all([
      ...alls.map((all) => ops.reduce(SUM, mine(group, 2, all), mine(group, 2, all))),
      ops.gather(mine(group, 2, alls[0] as Tensor[]), 'cpu:0', 0),
      host.reduce(SUM, mine(group, 1, singles), 'cpu:0'),
      host.gather(mine(group, 1, singles), 'cpu:0', 0),
    ]);
    alls.forEach((all, index) => {
      for (const result of componentsOf(results[index])) assertClose(`call ${index}`, result, combine('sum', all));
    });
    assertClose('a gather', results[5] as Tensor, concatAlong(alls[0] as Tensor[], 0));
    assertClose('a single', results[6] as Tensor, combine('sum', singles));
    assertClose('singles', results[7] as Tensor, concatAlong(singles, 0));
  },

  'supports processes with a single replica each': async (group) => {
    const [device] = devicesOf(group.rank, 1) as [string];
    await using ops = new CollectiveAllReduce([device], group.size, { group });
    const all = denseOf(group, 1, 6);
    const own = all[group.rank] as Tensor;
    const result = (await ops.allReduce(MEAN, { a: own }, group.rank)) as unknown as { a: Tensor };
    assertClose('a mean', result.a, combine('mean', all));
    assert.equal(result.a.device, device);
    const around = await ops.allReduce(SUM, own, group.rank, { implementation: 'RING' });
    assertClose('around a ring', around as Tensor, combine('sum', all));
    const replicas = ops.replicaGroup as ReplicaGroup;
    const first = (await replicas.run(replicas.broadcastCall(own, group.size - 1, group.rank))) as Tensor;
    assert.deepEqual(first.data, all[group.size - 1]?.data);
  },
};

/** The same for workers that may block, which have threads or processes of their own. */
export const blockingScenarios: Readonly<Record<string, Scenario>> = {
  'supports synchronous calls before links were measured': async (group) => {
    const [device] = devicesOf(group.rank, 1) as [string];
    await using ops = new CollectiveAllReduce([device], group.size, { group });
    const all = denseOf(group, 1, 70);
    const own = all[group.rank] as Tensor;
    const replicas = ops.replicaGroup as ReplicaGroup;
    const first = replicas.runSync(replicas.broadcastCall(own, 1, group.rank)) as Tensor;
    assert.deepEqual(first.data, all[1]?.data);
    const sparse = new IndexedSlices({ ...own, shape: [35, 2] }, tensor(new Int32Array(35)), [1, 2]);
    for (let call = 0; call < 20; call++) {
      const [sum, slices] = ops.allReduceSync(SUM, [own, sparse], group.rank) as unknown as [Tensor, IndexedSlices];
      assertClose('a sum', sum, combine('sum', all));
      assert.equal(slices.indices.data.length, 35 * group.size);
      const value = mine(group, 1, all);
      const [mean] = componentsOf(await ops.reduce(MEAN, value, value));
      assertClose('a mean', mean, combine('mean', all));
    }
    if (group.executesBy !== undefined) return;
    const { chosen, calls } = ops.explain().choices.find(({ kind }) => kind === 'all-reduce') ?? {};
    assert.ok(chosen !== undefined && (calls ?? 0) >= 20);
  },

  'counts each repetition of a call on the same array, and refuses the call once the array is detached': async (
    group,
  ) => {
    const [device] = devicesOf(group.rank, 1) as [string];
    const collectiveKeys = new CollectiveKeys();
    await using ops = new CollectiveAllReduce([device], group.size, { group, collectiveKeys });
    const [value, into] = [Float32Array.of(group.rank + 1), new Float32Array(1)];
    const sum = Float32Array.of((group.size * (group.size + 1)) / 2);
    const counts = () => [
      collectiveKeys.getInstanceKey(collectiveKeys.getGroupKey([device]), device),
      ops.explain().choices.find(({ kind }) => kind === 'all-reduce')?.calls ?? 0,
    ];
    await ops.allReduce(SUM, value, group.rank, { into });
    const [key = 0, calls = 0] = counts();
    for (let call = 0; call < 3; call++) {
      await ops.allReduce(SUM, value, group.rank, { into });
      assert.deepEqual(into, sum);
      into.fill(0);
    }
    for (let call = 0; call < 3; call++) {
      ops.allReduceSync(SUM, value, group.rank, { into });
      assert.deepEqual(into, sum);
      into.fill(0);
    }
    // Reading a key counts, too.
    assert.deepEqual(counts(), [key + 7, group.executesBy === undefined ? calls + 6 : 0]);
    structuredClone(into.buffer, { transfer: [into.buffer] });
    await assert.rejects(ops.allReduce(SUM, value, group.rank, { into }), { code: 'ERR_COLL_BUFFER' });
    assert.throws(() => ops.allReduceSync(SUM, value, group.rank, { into }), { code: 'ERR_COLL_BUFFER' });
    const again = (await ops.allReduce(SUM, value, group.rank)) as Tensor;
    assert.deepEqual(again.data, sum);
  },
};
