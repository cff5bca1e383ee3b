import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { ReplicaVerbs } from '../../test/replica-verbs.js';
import { TestedAllReduce } from '../../test/tested-all-reduce.js';
import { rejection, thrown } from '../../test/thrown.js';
import { CommunicationOptions } from '../collectives/communication-options.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { threadWorld } from '../engines/worlds.js';
import { jsEngine } from '../js/js-engine.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';
import { ReplicaCollectives } from './replica-collectives.js';
import { type GroupOps, ReplicaGroup } from './replica-group.js';

const ints = (...elements: readonly number[]) => tensor(elements, { dtype: 'int32' });
const on = (replica: number, ...elements: readonly number[]) => ({ ...ints(...elements), device: `cpu:${replica}` });

/** `size` replicas with a group of threads, all of them in this thread. */
function replicas(size: number): ReplicaVerbs[] {
  const group = createThreadGroup({ size, maxBytes: 2 ** 20, spins: 0 });
  const devices = Array.from({ length: size }, (_, rank) => `cpu:${rank}`);
  return devices.map((_, rank) => {
    const ops = new TestedAllReduce({ world: threadWorld(group, rank, devices) });
    return new ReplicaVerbs(ops.replicaGroup);
  });
}

describe('a replica whose peers are in other threads or processes', () => {
  it('reduces a structure of values with its peers', async () => {
    const results = await Promise.all(
      replicas(2).map((group, rank) => group.allReduce(ReduceOp.SUM, { w: [ints(rank, 2)], b: ints(3) }, rank)),
    );
    for (const [rank, result] of results.entries()) expect(result).toEqual({ w: [on(rank, 1, 4)], b: on(rank, 6) });
  });

  it('executes synchronous calls without the event loop', () => {
    const [group] = replicas(1) as [ReplicaVerbs];
    expect(group.allReduceSync(ReduceOp.MEAN, [ints(4)], 0)).toEqual([tensor([4], { device: 'cpu:0' })]);
    expect(group.broadcastSync({ w: ints(4) }, 0, 0)).toEqual({ w: on(0, 4) });
    expect(group.allGatherSync({ w: ints(4, 5) }, 0, 0)).toEqual({ w: on(0, 4, 5) });
    const into = Int32Array.of(0);
    group.allReduceSync(ReduceOp.SUM, ints(7), 0, { into });
    expect(into).toEqual(Int32Array.of(7));
  });

  it('reads its arrays again when a call is repeated on them, whatever else was called in between', async () => {
    const groups = replicas(2);
    const arrays = [Float32Array.of(1), Float32Array.of(2)] as const;
    const call = (op: ReduceOp) =>
      Promise.all(
        groups.map((group, rank) => {
          const own = arrays[rank] as Float32Array;
          return group.allReduce(op, own, rank, { into: own });
        }),
      );
    await call('SUM');
    await call('SUM');
    expect(arrays).toEqual([Float32Array.of(6), Float32Array.of(6)]);
    arrays[1][0] = 8;
    await call('MAX');
    const results = (await call('MEAN')) as Tensor[];
    expect(results.map(({ data }) => data)).toEqual(arrays);
    expect(arrays).toEqual([Float32Array.of(8), Float32Array.of(8)]);
  });

  it('describes a repeated call anew if the defaults of the ops have changed', async () => {
    const described: number[] = [];
    let defaults = new CommunicationOptions();
    class ObservedAllReduce extends TestedAllReduce {
      override withDefaults(call: ResolvedOptions): ResolvedOptions {
        return { ...call, options: defaults.merge(call.options) };
      }
      override perform(...[batch, call]: Parameters<TestedAllReduce['perform']>) {
        described.push(call.options.bytesPerPack);
        return super.perform(batch, call);
      }
    }
    const threads = createThreadGroup({ size: 2, maxBytes: 2 ** 20, spins: 0 });
    const groups = [0, 1].map((rank) => {
      const world = threadWorld(threads, rank, ['cpu:0', 'cpu:1']);
      return new ReplicaVerbs(new ObservedAllReduce({ world }).replicaGroup);
    });
    const arrays = [Float32Array.of(1), Float32Array.of(2)];
    const call = () =>
      Promise.all(
        groups.map((group, rank) =>
          group.allReduce('SUM', arrays[rank] as Float32Array, rank, { into: arrays[rank] as Float32Array }),
        ),
      );
    for (let step = 0; step < 3; step++) await call();
    defaults = new CommunicationOptions({ bytesPerPack: 8 });
    await call();
    await call();
    // The first call on small arrays is made on copies of them.
    expect(described).toEqual([0, 0, 0, 0, 8, 8]);
    expect(arrays).toEqual([Float32Array.of(48), Float32Array.of(48)]);
  });

  it('reduces small arrays that are new in each call, with and without `into`, and leaves the values as they are', async () => {
    const groups = replicas(2);
    const into = [new Float32Array(3), new Float32Array(3)] as const;
    const kept: Tensor[] = [];
    for (let step = 1; step < 4; step++) {
      const values = [Float32Array.of(step, 2, 3), Float32Array.of(10, 20, 30)] as const;
      const results = await Promise.all(
        groups.map((group, rank) => group.allReduce('SUM', values[rank] as Float32Array, rank)),
      );
      await Promise.all(
        groups.map((group, rank) =>
          group.allReduce('MAX', values[rank] as Float32Array, rank, { into: into[rank] as Float32Array }),
        ),
      );
      expect(values).toEqual([Float32Array.of(step, 2, 3), Float32Array.of(10, 20, 30)]);
      expect(into).toEqual([Float32Array.of(10, 20, 30), Float32Array.of(10, 20, 30)]);
      kept.push(...(results as Tensor[]));
    }
    expect(kept.map(({ data }) => data[0])).toEqual([11, 11, 12, 12, 13, 13]);
    expect(new Set(kept.map(({ data }) => data.buffer)).size).toBe(6);
  });

  it('fails if the memory for the result of a small array is detached during the call', async () => {
    const [first, second] = replicas(2) as [ReplicaVerbs, ReplicaVerbs];
    const into = Float32Array.of(0);
    const failing = rejection(first.allReduce('SUM', Float32Array.of(1), 0, { into }));
    structuredClone(into, { transfer: [into.buffer] });
    await Promise.allSettled([second.allReduce('SUM', Float32Array.of(2), 1)]);
    expect(await failing).toMatchObject({ code: 'ERR_COLL_BUFFER', rank: 0, operation: 'all-reduce sum' });
    expect(await rejection(second.allReduce('SUM', Float32Array.of(2), 1))).toMatchObject({ rank: 0 });
  });

  it('refuses an array that was detached since the call was made on it', async () => {
    const groups = replicas(2);
    const arrays = [Float32Array.of(1), Float32Array.of(2)];
    const call = () =>
      Promise.allSettled(
        groups.map((group, rank) => {
          const own = arrays[rank] as Float32Array;
          return group.allReduce('SUM', own, rank, { into: own });
        }),
      );
    await call();
    for (const { buffer } of arrays) structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
    for (const outcome of await call())
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'ValueError', code: 'ERR_COLL_BUFFER' } });
  });

  it('gathers and broadcasts structures', async () => {
    const groups = replicas(2);
    const gathered = await Promise.all(groups.map((group, rank) => group.allGather([ints(rank), ints(9)], 0, rank)));
    expect(gathered).toEqual([
      [on(0, 0, 1), on(0, 9, 9)],
      [on(1, 0, 1), on(1, 9, 9)],
    ]);
    const targets = [Int32Array.of(0), Int32Array.of(0)] as const;
    const copies = await Promise.all(
      groups.map((group, rank) =>
        group.broadcast({ w: ints(rank) }, 1, rank, { into: { w: targets[rank] as Int32Array } }),
      ),
    );
    expect([copies, targets]).toEqual([
      [{ w: on(0, 1) }, { w: on(1, 1) }],
      [Int32Array.of(1), Int32Array.of(1)],
    ]);
  });

  it('reduces values that arrive one by one, into the memory passed as `into`', async () => {
    const groups = replicas(2);
    const targets = [Int32Array.of(0), Int32Array.of(0)] as const;
    const structures = groups.map((group, rank) => {
      const value = { w: Promise.resolve(ints(rank + 1)), b: [ints(rank, 5)] };
      const into = { w: targets[rank] as Int32Array, b: [Int32Array.of(0, 0)] };
      return group.allReduceArriving(ReduceOp.SUM, value, rank, { into });
    });
    for (const [rank, { results, ended }] of structures.entries()) {
      const { w, b } = results as { w: Promise<Tensor>; b: Promise<Tensor>[] };
      expect([await w, await b[0]]).toEqual([on(rank, 3), on(rank, 1, 10)]);
      await ended;
    }
    expect(targets).toEqual([Int32Array.of(3), Int32Array.of(3)]);
  });

  it('fails on all replicas if the promise of a value rejects', async () => {
    const [first, second] = replicas(2) as [ReplicaVerbs, ReplicaVerbs];
    const waiting = second.allReduceArriving(ReduceOp.SUM, [Promise.resolve(ints(1))], 1);
    const failing = first.allReduceArriving(ReduceOp.SUM, [Promise.reject(new Error('burst'))], 0);
    for (const { ended } of [failing, waiting])
      expect(await rejection(ended)).toMatchObject({ message: expect.stringContaining('burst') });
  });

  it('is not busy after an all-reduce of an empty list of arriving values', () => {
    const [group] = replicas(1) as [ReplicaVerbs];
    const signal = AbortSignal.abort(new Error('early'));
    for (const { results, ended } of [
      group.allReduceArriving(ReduceOp.SUM, [], 0),
      group.allReduceArriving(ReduceOp.SUM, [], 0, { signal }),
    ]) {
      expect(results).toEqual([]);
      ended.catch(() => {});
    }
    expect(thrown(() => group.allReduceSync(ReduceOp.SUM, 1, 0))).not.toMatchObject({ code: 'ERR_COLL_BUSY' });
  });

  it('passes only calls that do not end at once to the function that tracks calls', async () => {
    const tracked: Promise<unknown>[] = [];
    const track = <Result>(call: Promise<Result>) => {
      tracked.push(call);
      return call;
    };
    const [{ group: alone }] = replicas(1) as [ReplicaVerbs];
    await alone.run(alone.reduceCall(ReduceOp.SUM, 1, 0), track);
    expect(tracked).toEqual([]);
    const pair = replicas(2).map(({ group }, rank) => group.run(group.reduceCall(ReduceOp.SUM, 1, rank), track));
    expect(tracked[0]).toBe(pair[0]);
    await Promise.all(pair);
    await alone.close();
    await expect(alone.run(alone.reduceCall(ReduceOp.SUM, 1, 0), track)).rejects.toThrow('closed');
    expect(tracked.length).toBeGreaterThan(1);
  });

  it('returns one promise for all repetitions that end at once with the same result, and new lists of results', async () => {
    const collectives = new ReplicaCollectives(jsEngine.communicator(1, directAlgorithm()));
    const perform: GroupOps['perform'] = (batch, options) => collectives.perform(batch, options);
    const ops = { perform, performSync: perform, withDefaults: (options: ResolvedOptions) => options };
    const group = new ReplicaGroup({ ops, size: 1, ids: [0], devices: ['cpu:0'] });
    const array = Float32Array.of(5);
    const call = (value: Float32Array | Float32Array[]) =>
      group.run(group.reduceCall(ReduceOp.MEAN, value, 0, { into: value }));
    const prepared = [await call(array), call(array)][1];
    expect(call(array)).toBe(prepared);
    expect((await prepared) as Tensor).toMatchObject({ data: array });
    const lists = [await call([array]), await call([array]), await call([array])] as Tensor[][];
    for (const [index, list] of lists.entries()) {
      expect(list).toMatchObject([{ data: array }]);
      expect(lists.indexOf(list)).toBe(index);
    }
  });

  it('allocates zeros of a shape on its device, in memory of its engine if available', () => {
    const [, second] = replicas(2) as [unknown, ReplicaVerbs];
    const made = second.group.allocate('float32', [2, 3], 1);
    expect({ ...made, data: [...made.data] }).toEqual({
      data: [0, 0, 0, 0, 0, 0],
      dtype: 'float32',
      shape: [2, 3],
      device: 'cpu:1',
    });
    expect(made.data.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(thrown(() => second.group.allocate('float32', [-1], 1))).toMatchObject({ code: 'ERR_COLL_VALUE' });
  });

  it('refuses to pass values for another replica', async () => {
    const [, second] = replicas(2) as [unknown, ReplicaVerbs];
    const error = { code: 'ERR_COLL_RANGE', message: expect.stringContaining('replica 0 is not in this process') };
    expect(await rejection(second.allReduce(ReduceOp.SUM, 1, 0))).toMatchObject(error);
    expect(thrown(() => second.allReduceSync(ReduceOp.SUM, 1, 0))).toMatchObject(error);
  });

  it('refuses sharedResult, because its peers are in other threads', async () => {
    const [group] = replicas(2) as [ReplicaVerbs];
    const options = { sharedResult: true };
    const error = {
      code: 'ERR_COLL_NOT_IMPLEMENTED',
      message: expect.stringContaining('pass the memory for the result in the option into'),
    };
    expect(await rejection(group.allReduce(ReduceOp.SUM, 1, 0, options))).toMatchObject(error);
    expect(thrown(() => group.allReduceSync(ReduceOp.SUM, 1, 0, options))).toMatchObject(error);
    expect(await rejection(group.allGather(ints(1), 0, 0, options))).toMatchObject(error);
    expect(await rejection(group.broadcast(1, 0, 0, options))).toMatchObject(error);
    expect(thrown(() => group.broadcastSync(1, 0, 0, options))).toMatchObject(error);
  });

  it('refuses to gather or broadcast sparse values', async () => {
    const [group] = replicas(1) as [ReplicaVerbs];
    const slices = new IndexedSlices(ints(1), Int32Array.of(0));
    for (const call of [group.allGather(slices, 0, 0), group.broadcast([slices], 0, 0)]) {
      expect(await rejection(call)).toMatchObject({ code: 'ERR_COLL_NOT_IMPLEMENTED' });
    }
    expect(thrown(() => group.broadcastSync(slices, 0, 0))).toMatchObject({
      code: 'ERR_COLL_NOT_IMPLEMENTED',
    });
  });

  it('times out after the timeout of the call', async () => {
    const [first] = replicas(2) as [ReplicaVerbs];
    expect(await rejection(first.allReduce(ReduceOp.SUM, 1, 0, { timeoutSeconds: 0.01 }))).toMatchObject({
      name: 'DeadlineExceededError',
      code: 'ERR_COLL_DEADLINE',
      message: expect.stringContaining('rank 1 did not arrive'),
    });
  });

  it('fails once its communicator is closed', async () => {
    const [group] = replicas(1) as [ReplicaVerbs];
    await group.group.close();
    expect(await rejection(group.allReduce(ReduceOp.SUM, 1, 0))).toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });
});

it('ops that are created for one device of a world use a replica group', async () => {
  const group = createThreadGroup({ size: 2, maxBytes: 2 ** 20, spins: 0 });
  const ops = [0, 1].map((rank) => new TestedAllReduce({ world: threadWorld(group, rank, ['cpu:0', 'cpu:1']) }));
  const results = await Promise.all(ops.map((one, rank) => one.allReduce(ReduceOp.SUM, ints(rank + 1), rank)));
  expect(results.map((result) => (result as Tensor).data)).toEqual([Int32Array.of(3), Int32Array.of(3)]);
  expect(ops.map((one) => one.explain().engine)).toEqual(['js', 'js']);
  await Promise.all(ops.map((one) => one.close()));
  const [first] = ops as [TestedAllReduce];
  expect(await rejection(first.allReduce(ReduceOp.SUM, ints(1), 0))).toMatchObject({ code: 'ERR_COLL_CLOSED' });
  expect(thrown(() => first.allReduceSync(ReduceOp.SUM, ints(1), 0))).toMatchObject({ code: 'ERR_COLL_CLOSED' });
});
