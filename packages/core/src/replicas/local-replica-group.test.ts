import { directAlgorithm } from '@coll/direct';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RecordingOps } from '../../test/recording-ops.js';
import { ReplicaVerbs } from '../../test/replica-verbs.js';
import { TestedAllReduce } from '../../test/tested-all-reduce.js';
import { rejection, thrown } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { portableWorld } from '../engines/worlds.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import { type Work, workDone } from '../runtime/drive.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';
import type { Batch, ValueLists } from './batch.js';
import type { ReplicaCallOptions, ReplicaValue } from './replica-call.js';
import { ReplicaGroup } from './replica-group.js';

const world = portableWorld(['cpu:0', 'cpu:1']);
const ints = (...elements: readonly number[]) => tensor(elements, { dtype: 'int32' });

/** Records the options of a call in `seen`, and returns the inputs. */
function keep(seen: ResolvedOptions[], { inputs }: Batch, call: ResolvedOptions): Work<ValueLists> {
  seen.push(call);
  return workDone(inputs);
}

/** Ops for two replicas in this thread. */
function twoReplicas() {
  const ops = new TestedAllReduce({ world });
  const both = (values: readonly ReplicaValue[], op: ReduceOp = ReduceOp.SUM, options?: ReplicaCallOptions) =>
    Promise.all(values.map((value, replica) => ops.allReduce(op, value, replica, options)));
  return { ops, both };
}

describe('allReduce of replicas in one thread', () => {
  it("returns each replica's result on its device, in the structure of its value", async () => {
    const { both } = twoReplicas();
    const results = await both([
      { w: [ints(1, 2)], b: 5 },
      { w: [ints(10, 20)], b: 6 },
    ]);
    expect(results).toEqual([
      { w: [{ ...ints(11, 22), device: 'cpu:0' }], b: { ...tensor(11), device: 'cpu:0' } },
      { w: [{ ...ints(11, 22), device: 'cpu:1' }], b: { ...tensor(11), device: 'cpu:1' } },
    ]);
  });

  it('returns means, and floats for means of integers', async () => {
    const [first] = await twoReplicas().both([ints(1), ints(2)], ReduceOp.MEAN);
    expect(first).toEqual({ ...tensor([1.5]), device: 'cpu:0' });
  });

  it('gathers sparse values in the same call as dense values', async () => {
    const slices = (row: number) => new IndexedSlices(ints(row), Int32Array.of(row), [9]);
    const [, second] = (await twoReplicas().both([
      [slices(3), ints(1)],
      [slices(5), ints(2)],
    ])) as unknown as [unknown, [IndexedSlices, Tensor]];
    expect([second[0].values.data, second[0].indices.data]).toEqual([Int32Array.of(3, 5), Int32Array.of(3, 5)]);
    expect(second[1].data).toEqual(Int32Array.of(3));
  });

  it('adds a sparse value of one replica to a dense value of another, also with the option `into`', async () => {
    const { ops } = twoReplicas();
    const slices = new IndexedSlices(ints(5, 6), Int32Array.of(0, 0), [2]);
    const into = [Int32Array.of(0), [Int32Array.of(0), Int32Array.of(0, 0)]] as const;
    const [first, second] = (await Promise.all([
      ops.allReduce(ReduceOp.SUM, [ints(1), slices], 0, { into: [into[0]] }),
      ops.allReduce(ReduceOp.SUM, [ints(2), ints(1, 1)], 1, { into: into[1] }),
    ])) as [Tensor[], Tensor[]];
    expect(into).toEqual([Int32Array.of(3), [Int32Array.of(3), Int32Array.of(12, 1)]]);
    expect([first[1]?.data, second[1]?.data]).toEqual([Int32Array.of(12, 1), Int32Array.of(12, 1)]);
  });

  it('writes into memory passed as `into`, also the memory of the values', async () => {
    const { ops } = twoReplicas();
    const [a, b] = [Int32Array.of(1), Int32Array.of(2)];
    const [first] = await Promise.all([
      ops.allReduce(ReduceOp.SUM, [a], 0, { into: [a] }),
      ops.allReduce(ReduceOp.SUM, [b], 1),
    ]);
    expect([a, b]).toEqual([Int32Array.of(3), Int32Array.of(2)]);
    expect((first as Tensor[])[0]?.data).toBe(a);
  });

  it('reads its arrays again when a call is repeated on them, whatever else was called in between', async () => {
    const { ops } = twoReplicas();
    const described = vi.spyOn(ops, 'perform');
    const arrays = [Float32Array.of(1), Float32Array.of(2)] as const;
    const call = (op: ReduceOp, targets: readonly Float32Array[] = arrays) =>
      Promise.all(
        arrays.map((own, replica) => ops.allReduce(op, own, replica, { into: targets[replica] as Float32Array })),
      );
    for (let step = 0; step < 3; step++) await call(ReduceOp.SUM);
    expect(arrays).toEqual([Float32Array.of(12), Float32Array.of(12)]);
    // At the first call, and at its first repetition, which prepares it for more.
    expect(described).toHaveBeenCalledTimes(2);
    const other = Float32Array.of(0);
    await call(ReduceOp.SUM, [arrays[0], other]);
    expect([...arrays, other]).toEqual([24, 12, 24].map((value) => Float32Array.of(value)));
    const results = (await call(ReduceOp.MEAN)) as Tensor[];
    expect(results.map(({ data }) => data)).toEqual(arrays);
    expect(arrays).toEqual([Float32Array.of(18), Float32Array.of(18)]);
  });

  it('lets one replica make several calls before another replica makes its first', async () => {
    const { ops } = twoReplicas();
    const ahead = [1, 2].map((value) => ops.allReduce(ReduceOp.SUM, value, 0));
    const behind = [10, 20].map((value) => ops.allReduce(ReduceOp.SUM, value, 1));
    const results = (await Promise.all([...ahead, ...behind])) as Tensor[];
    expect(results.map(({ data }) => data[0])).toEqual([11, 22, 11, 22]);
  });

  it.each<readonly [string, Parameters<TestedAllReduce['allReduce']>, object]>([
    ['a replica of another process', [ReduceOp.SUM, 1, 2], { code: 'ERR_COLL_RANGE' }],
    ['the name of an op', ['sum' as never, 1, 0], { code: 'ERR_COLL_VALUE' }],
    [
      'results of another shape',
      [ReduceOp.SUM, ints(1), 0, { into: Int32Array.of(1, 2) }],
      { code: 'ERR_COLL_BUFFER' },
    ],
    ['integers for a mean', [ReduceOp.MEAN, ints(1), 0, { into: Int32Array.of(1) }], { code: 'ERR_COLL_BUFFER' }],
  ])('refuses %s before it waits for other replicas', async (_, args, error) => {
    expect(await rejection(twoReplicas().ops.allReduce(...args))).toMatchObject(error);
  });

  it('fails on all replicas with the same error if they make different calls', async () => {
    const { ops } = twoReplicas();
    const calls = [ops.allReduce(ReduceOp.SUM, 1, 0), ops.allReduce(ReduceOp.MAX, 1, 1)];
    const [first, second] = await Promise.all(calls.map(rejection));
    expect(first).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_MISMATCH',
      rank: 1,
      operation: 'all-reduce SUM',
    });
    expect(second).toBe(first);
    const lists = await Promise.allSettled([
      ops.allReduce(ReduceOp.SUM, [1], 0),
      ops.allReduce(ReduceOp.SUM, [1, 2], 1),
    ]);
    for (const list of lists)
      expect(list.status === 'rejected' && list.reason).toMatchObject({
        ...{ name: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH', rank: 1 },
        message: expect.stringContaining('replica 0 passes a list of 1, replica 1 passes a list of 2; all'),
      });
  });

  it('states the structures if those of the replicas differ', async () => {
    const one = ints(1);
    const values = [
      { a: [one, one], b: one },
      { a: [one], b: one },
    ];
    const verbs = new ReplicaVerbs(twoReplicas().ops.replicaGroup);
    const calls = [
      (replica: number) => verbs.allReduce(ReduceOp.SUM, values[replica] as ReplicaValue, replica),
      (replica: number) => verbs.broadcast(values[replica] as ReplicaValue, 0, replica),
      (replica: number) => verbs.allGather(values[replica] as ReplicaValue, 0, replica),
    ];
    for (const call of calls)
      for (const error of await Promise.all([0, 1].map((replica) => rejection(call(replica)))))
        expect(error).toMatchObject({
          code: 'ERR_COLL_SHAPE_MISMATCH',
          message: expect.stringMatching(
            /: replica 0 passes the structure {a: \[2\], b}, replica 1 .* {a: \[1\], b}; all/,
          ),
        });
  });

  it('fails on all replicas if memory of one was detached while it waited for the others', async () => {
    const lost = Float32Array.of(1, 2);
    const whole = () => Float32Array.of(3, 4);
    const slices = (values: Float32Array) => new IndexedSlices(values, Int32Array.of(0, 1));
    const first: [string, (ops: ReplicaVerbs, memory: Float32Array) => Promise<unknown>][] = [
      ['all-reduce SUM', (ops, memory) => ops.allReduce(ReduceOp.SUM, memory, 0)],
      ['all-reduce SUM', (ops, into) => ops.allReduce(ReduceOp.SUM, whole(), 0, { into })],
      ['all-reduce SUM', (ops, memory) => ops.allReduce(ReduceOp.SUM, slices(memory), 0)],
      ['all-gather along axis 0', (ops, memory) => ops.allGather(memory, 0, 0)],
      ['broadcast from replica 0', (ops, memory) => ops.broadcast([memory], 0, 0)],
    ];
    const second = [
      (ops: ReplicaVerbs) => ops.allReduce(ReduceOp.SUM, whole(), 1),
      (ops: ReplicaVerbs) => ops.allReduce(ReduceOp.SUM, whole(), 1),
      (ops: ReplicaVerbs) => ops.allReduce(ReduceOp.SUM, slices(whole()), 1),
      (ops: ReplicaVerbs) => ops.allGather(whole(), 0, 1),
      (ops: ReplicaVerbs) => ops.broadcast([whole()], 0, 1),
    ];
    for (const [index, [operation, call]] of first.entries()) {
      const verbs = new ReplicaVerbs(twoReplicas().ops.replicaGroup);
      const memory = lost.slice();
      const calls = [call(verbs, memory)];
      structuredClone(memory, { transfer: [memory.buffer] });
      calls.push((second[index] as (ops: ReplicaVerbs) => Promise<unknown>)(verbs));
      for (const error of await Promise.all(calls.map(rejection)))
        expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER', rank: 0, operation });
    }
  });

  it('fails if only some replicas request deduplicate', async () => {
    const { ops } = twoReplicas();
    const calls = [0, 1].map((replica) => ops.allReduce(ReduceOp.SUM, 1, replica, { deduplicate: replica === 1 }));
    const [first, second] = await Promise.all(calls.map(rejection));
    const message = 'replica 0 calls all-reduce SUM, replica 1 calls all-reduce SUM with deduplicate';
    expect(first).toMatchObject({ code: 'ERR_COLL_MISMATCH', rank: 1, message: expect.stringContaining(message) });
    expect(second).toBe(first);
  });

  it('fails on all replicas with the same error if shapes differ', async () => {
    const { ops } = twoReplicas();
    const calls = [ops.allReduce(ReduceOp.SUM, ints(1), 0), ops.allReduce(ReduceOp.SUM, ints(1, 2), 1)];
    for (const error of await Promise.all(calls.map(rejection))) {
      expect(error).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH', rank: 1 });
    }
  });

  it('has counterparts for gather and broadcast that work in the same way', async () => {
    const group = new ReplicaVerbs(twoReplicas().ops.replicaGroup);
    const gathered = await Promise.all([0, 1].map((id) => group.allGather(ints(id, 7), 0, id)));
    expect(gathered).toEqual([0, 1].map((id) => ({ ...ints(0, 7, 1, 7), device: `cpu:${id}` })));
    const own = [ints(3), ints(4)];
    const copies = await Promise.all(own.map((value, id) => group.broadcast([value], 1, id)));
    expect(copies).toEqual([0, 1].map((id) => [{ ...ints(4), device: `cpu:${id}` }]));
    expect((copies[1] as readonly Tensor[])[0]?.data).not.toBe(own[1]?.data);
  });

  it('refuses synchronous calls, and says how to make them', () => {
    const group = new ReplicaVerbs(twoReplicas().ops.replicaGroup);
    const calls = [
      ['allReduceSync', () => group.allReduceSync(ReduceOp.SUM, 1, 0)],
      ['allGatherSync', () => group.allGatherSync(ints(1), 0, 0)],
      ['broadcastSync', () => group.broadcastSync(1, 0, 1)],
    ] as const;
    for (const [operation, call] of calls) {
      expect(thrown(call)).toMatchObject({
        name: 'RuntimeError',
        code: 'ERR_COLL_CONTEXT',
        operation,
        message: expect.stringContaining('run the replicas in worker threads'),
      });
    }
  });
});

describe('the wait of a replica for other replicas in its thread', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends at the deadline, and names the replicas that did not arrive', async () => {
    const { ops } = twoReplicas();
    const waiting = rejection(ops.allReduce(ReduceOp.SUM, 1, 0, { timeoutSeconds: 3 }));
    await vi.advanceTimersByTimeAsync(2999);
    expect(await Promise.race([waiting, Promise.resolve('still waiting')])).toBe('still waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toMatchObject({
      name: 'DeadlineExceededError',
      code: 'ERR_COLL_DEADLINE',
      rank: 0,
      operation: 'all-reduce SUM',
      message: expect.stringContaining('replica 1 did not arrive'),
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  // The longest timer is 24 days; setTimeout fires longer ones at once.
  it.each([null, 0, 1e7, Number.POSITIVE_INFINITY])(
    'does not end within eleven days with a timeout of %s',
    async (timeoutSeconds) => {
      const { ops } = twoReplicas();
      const waiting = ops.allReduce(ReduceOp.SUM, 1, 0, { timeoutSeconds });
      await vi.advanceTimersByTimeAsync(1e9);
      const [late] = await Promise.all([ops.allReduce(ReduceOp.SUM, 2, 1), waiting]);
      expect((late as Tensor).data).toEqual(Float64Array.of(3));
    },
  );

  it('leaves no timer behind', async () => {
    await twoReplicas().both([1, 2], ReduceOp.SUM, { timeoutSeconds: 3 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends for all replicas when a signal is aborted', async () => {
    const { ops } = twoReplicas();
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiting = rejection(ops.allReduce(ReduceOp.SUM, 1, 0, { signal: controller.signal }));
    controller.abort(reason);
    expect(await waiting).toMatchObject({ name: 'AbortedError', code: 'ERR_COLL_ABORTED', rank: 0, cause: reason });
    expect(await rejection(ops.allReduce(ReduceOp.SUM, 1, 1))).toMatchObject({ code: 'ERR_COLL_ABORTED' });
  });

  it('does not start for a call whose signal is already aborted, and goes on if all replicas made that call', async () => {
    const { ops, both } = twoReplicas();
    for (const replica of [0, 1]) {
      const refused = rejection(ops.allReduce(ReduceOp.SUM, 1, replica, { signal: AbortSignal.abort('early') }));
      expect(await refused).toMatchObject({ name: 'AbortedError', cause: 'early' });
    }
    expect(((await both([1, 2])) as Tensor[]).map(({ data }) => data[0])).toEqual([3, 3]);
  });

  it('fails for all replicas after a call that one replica alone has refused', async () => {
    const { ops } = twoReplicas();
    await rejection(ops.allReduce('MEDIAN' as ReduceOp, 1, 1));
    const waiting = [0, 1].map((replica) => rejection(ops.allReduce(ReduceOp.SUM, 1, replica)));
    for (const error of await Promise.all(waiting)) {
      expect(error).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
      expect((error as Error).message).toContain('replica 1 caught ERR_COLL_');
    }
  });

  it('is followed by a joint call with the shortest timeout and the signals of all replicas', async () => {
    const seen: ResolvedOptions[] = [];
    const made = new ReplicaGroup({
      ops: {
        perform: (batch, call) => keep(seen, batch, call),
        performSync: () => expect.unreachable(),
        withDefaults: (call) => call,
      },
      size: 2,
      ids: [0, 1],
      devices: ['cpu:0', 'cpu:1'],
    });
    const group = new ReplicaVerbs(made);
    const [first, second] = [new AbortController(), new AbortController()];
    await Promise.all([
      group.allReduce(ReduceOp.SUM, 1, 0, { timeoutSeconds: 9, signal: first.signal }),
      group.allReduce(ReduceOp.SUM, 1, 1, { timeoutSeconds: 5, signal: second.signal }),
    ]);
    expect(seen[0]?.options.timeoutSeconds).toBe(5);
    second.abort();
    expect(seen[0]?.signal?.aborted).toBe(true);
    await Promise.all([group.allReduce(ReduceOp.SUM, 1, 0), group.allReduce(ReduceOp.SUM, 1, 1)]);
    expect([seen[1]?.options.timeoutSeconds, seen[1]?.signal]).toEqual([null, undefined]);
  });

  it('ends when the ops are closed, and cannot start afterwards', async () => {
    const { ops } = twoReplicas();
    const waiting = rejection(ops.allReduce(ReduceOp.SUM, 1, 0));
    await ops.close();
    for (const error of [await waiting, await rejection(ops.allReduce(ReduceOp.SUM, 1, 1))]) {
      expect(error).toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CLOSED', operation: 'all-reduce SUM' });
    }
  });
});

it('a replica group places values on the device of their replica, and passes the options to the ops', async () => {
  const ops = new RecordingOps(world, { algorithm: directAlgorithm() });
  const placed = { ...ints(1), device: 'cpu:7' };
  const slices = new IndexedSlices(ints(1), Int32Array.of(0));
  await Promise.all([
    ops.allReduce(ReduceOp.SUM, [ints(1), slices], 0, { bytesPerPack: 4 }),
    ops.allReduce(ReduceOp.SUM, [placed, slices], 1),
  ]);
  expect(ops.reduced.mock.calls.map(([op, { devices }, , { options }]) => [op, devices, options.bytesPerPack])).toEqual(
    [
      ['SUM', ['cpu:0', 'cpu:1'], 4],
      ['SUM', ['cpu:0', 'cpu:1'], 4],
    ],
  );
});
