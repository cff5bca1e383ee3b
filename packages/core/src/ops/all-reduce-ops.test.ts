import { directAlgorithm } from '@coll/direct';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepLengths, on, spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import { rejection } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import type { World } from '../engines/world.js';
import { portableWorld } from '../engines/worlds.js';
import { JsCommunicator } from '../js/js-engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type LogLevel, setLogSink } from '../support/logger.js';
import { Mirrored, PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import type { ReadyPair } from './reducible.js';

const value = spread([1, 2], [30, 40]);
const slices = (device: string, row: number) =>
  new IndexedSlices(on(device, row), tensor(Int32Array.of(row), { device }), [9]);
const sparse = new PerReplica([slices('cpu:0', 3), slices('cpu:1', 5)]);
const ramp = (length: number) => Array.from({ length }, (_, index) => index);

/** Number of elements of each all-reduce, in order. */
const lengths: number[] = [];
const run = vi.spyOn(JsCommunicator.prototype, 'run').mockImplementation(keepLengths(lengths));
beforeEach(() => {
  lengths.length = 0;
  run.mockClear();
});

describe('reduce of all-reduce ops', () => {
  it('is an all-reduce if the destinations are the devices of the value in any order', async () => {
    const result = (await new TestedAllReduce().reduce(ReduceOp.SUM, value, ['cpu:1', 'cpu:0'])) as Mirrored<Tensor>;
    expect(result).toBeInstanceOf(Mirrored);
    expect(result.values).toEqual([on('cpu:1', 31, 42), on('cpu:0', 31, 42)]);
    expect(lengths).toEqual([2]);
    expect(value.values).toEqual([on('cpu:0', 1, 2), on('cpu:1', 30, 40)]);
  });

  it('returns separate memory for every device', async () => {
    const result = (await new TestedAllReduce().reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    const memories = new Set([...result.values, ...value.values].map(({ data }) => data.buffer));
    expect(memories.size).toBe(4);
  });

  it('uses the fallback for other destinations, and notes why', async () => {
    const ops = new TestedAllReduce();
    const result = await ops.reduce(ReduceOp.SUM, value, 'cpu:0');
    expect((result as Tensor).data).toEqual(Int32Array.of(31, 42));
    expect(lengths).toEqual([]);
    expect(ops.explain().notes).toEqual([
      'the destinations are not the devices of the values, so that this reduce is not an all-reduce; reduction-to-one is used instead',
    ]);
  });

  it('uses the fallback for a value that the ops refuse, alone and in a batch', async () => {
    const isTooShort = ([{ values }]: ReadyPair) =>
      values.every((item) => 'data' in item && item.data.length < 3) ? 'it is too short' : undefined;
    const ops = new TestedAllReduce({ refuses: isTooShort });
    const long = spread([1, 2, 3], [4, 5, 6]);
    const one = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(one.values).toEqual([on('cpu:0', 31, 42), on('cpu:1', 31, 42)]);
    expect(lengths).toEqual([]);
    const pairs = [value, long].map((each) => [each, each] as const);
    const [again, other] = (await ops.batchReduce(ReduceOp.SUM, pairs)) as Mirrored<Tensor>[];
    expect(again).toEqual(one);
    expect(other?.values[1]).toEqual(on('cpu:1', 5, 7, 9));
    expect(lengths).toEqual([3]);
    expect(ops.explain().notes).toEqual(['it is too short; reduction-to-one is used instead']);
  });

  it.each<readonly [ReduceOp, Tensor]>([
    ['SUM', on('cpu:0', 31, 42)],
    ['MEAN', tensor([15.5, 21], { device: 'cpu:0' })],
    ['MIN', on('cpu:0', 1, 2)],
    ['MAX', on('cpu:0', 30, 40)],
    ['PRODUCT', on('cpu:0', 30, 80)],
  ])('combines the components with %s', async (op, expected) => {
    const result = (await new TestedAllReduce().reduce(op, value, value)) as Mirrored<Tensor>;
    expect(result.primary).toEqual(expected);
  });

  it('passes options and signal to the communicator', async () => {
    const { signal } = new AbortController();
    await new TestedAllReduce().reduce(ReduceOp.SUM, value, value, { timeoutSeconds: 5, signal });
    expect(run.mock.lastCall?.[3]).toEqual({
      timeoutSeconds: 5,
      signal,
      layout: expect.any(Number),
      values: [{ id: 0, begin: 0, offset: 0, length: expect.any(Number) }],
    });
    await new TestedAllReduce().reduce(ReduceOp.SUM, value, value, { checkCalls: true });
    expect(run.mock.lastCall?.[3]).toMatchObject({ checkCalls: true });
    const aborted = AbortSignal.abort(new Error('enough'));
    const error = await rejection(new TestedAllReduce().reduce(ReduceOp.SUM, value, value, { signal: aborted }));
    expect(error).toMatchObject({ name: 'AbortedError', code: 'ERR_COLL_ABORTED', cause: { message: 'enough' } });
  });
});

describe('batchReduce of all-reduce ops', () => {
  it('is one batched call if all values and destinations are on the same devices', async () => {
    const other = spread([5], [6]);
    const results = await new TestedAllReduce().batchReduce(ReduceOp.SUM, [
      [value, value],
      [other, value],
    ]);
    expect(results).toEqual([
      new Mirrored([on('cpu:0', 31, 42), on('cpu:1', 31, 42)]),
      new Mirrored([on('cpu:0', 11), on('cpu:1', 11)]),
    ]);
    expect(lengths).toEqual([3]);
  });

  it('is one reduce per pair if a destination is not on the devices of its value', async () => {
    const results = await new TestedAllReduce().batchReduce(ReduceOp.SUM, [
      [value, value],
      [value, 'cpu:0'],
    ]);
    expect((results[1] as Tensor).data).toEqual(Int32Array.of(31, 42));
    expect(lengths).toEqual([2]);
  });

  it('requires the devices of all values in the same order', async () => {
    const turned = new PerReplica([on('cpu:1', 1, 2), on('cpu:0', 3, 4)]);
    const pairs = [
      [value, value],
      [turned, value],
    ] as const;
    expect(await rejection(new TestedAllReduce().batchReduce(ReduceOp.SUM, pairs))).toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_DEVICE',
      message: expect.stringContaining('[cpu:0,cpu:1] and [cpu:1,cpu:0]'),
    });
  });

  it('sends values of different dtypes separately', async () => {
    const halves = new PerReplica([zeros('float16', [7], 'cpu:0'), zeros('float16', [7], 'cpu:1')]);
    const pairs = [value, halves, value].map((item) => [item, item] as const);
    const results = (await new TestedAllReduce().batchReduce(ReduceOp.SUM, pairs)) as Mirrored<Tensor>[];
    expect(results.map(({ primary }) => primary.dtype)).toEqual(['int32', 'float16', 'int32']);
    expect(lengths).toEqual([4, 7]);
  });

  it('uses the fallback for sparse values and keeps the order of the batch', async () => {
    const ops = new TestedAllReduce();
    const pairs = [sparse, value, sparse].map((item) => [item, item] as const);
    const [first, dense, last] = (await ops.batchReduce(ReduceOp.SUM, pairs)) as Mirrored<never>[];
    const joined = new IndexedSlices(on('cpu:0', 3, 5), tensor(Int32Array.of(3, 5), { device: 'cpu:0' }), [9]);
    expect([first?.primary, last?.primary]).toEqual([joined, joined]);
    expect(dense?.primary).toEqual(on('cpu:0', 31, 42));
    expect(ops.explain().notes).toEqual([
      'an all-reduce of indexed slices gathers them; reduction-to-one is used instead',
    ]);
  });

  it('uses the fallback for values with both dense and sparse components', async () => {
    const ops = new TestedAllReduce();
    const mixed = new PerReplica([slices('cpu:0', 3), on('cpu:1', ...ramp(9))]);
    const result = (await ops.reduce(ReduceOp.SUM, mixed, mixed)) as Mirrored<Tensor>;
    expect(result.primary).toEqual(on('cpu:0', ...ramp(9).with(3, 6)));
    expect(ops.explain().notes).toEqual([
      'some components are dense and others sparse; reduction-to-one is used instead',
    ]);
  });
});

describe('a call that the communicator refuses', () => {
  it('uses the fallback, with the reason as a note', async () => {
    const refuses = (_: unknown, ranks: number) => (ranks === 2 ? 'it wants three' : undefined);
    const ops = new TestedAllReduce({ algorithm: { ...directAlgorithm(), refuses } });
    const result = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(result.primary.data).toEqual(Int32Array.of(31, 42));
    expect(ops.explain().notes).toEqual(['it wants three; reduction-to-one is used instead']);
    await ops.reduce(ReduceOp.SUM, value, value);
    expect(ops.explain().notes).toHaveLength(1);
    expect(lengths).toEqual([]);
  });

  it('throws if the fallback cannot execute it either', async () => {
    const flags = new PerReplica([zeros('bool', [1], 'cpu:0'), zeros('bool', [1], 'cpu:1')]);
    const error = await rejection(new TestedAllReduce().reduce(ReduceOp.MEAN, flags, flags));
    expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
  });
});

describe('the communicator of a world', () => {
  it('is used only for values that are on all of its devices', async () => {
    const inner = portableWorld(['cpu:0', 'cpu:1']);
    const communicator = vi.fn((algorithm: Algorithm) => inner.communicator(algorithm));
    const world: World = { ...inner, engine: 'mine', communicator };
    const ops = new TestedAllReduce({ world });
    await ops.reduce(ReduceOp.SUM, value, value);
    await ops.reduce(ReduceOp.SUM, value, value);
    expect(communicator.mock.calls).toEqual([[directAlgorithm()]]);
    const three = spread([1], [2], [3]);
    const result = (await ops.reduce(ReduceOp.SUM, three, three)) as Mirrored<Tensor>;
    expect(result.primary.data).toEqual(Int32Array.of(6));
    expect(communicator).toHaveBeenCalledOnce();
    expect(ops.explain().engine).toBe('mine');
  });
});

it('closing the ops closes their communicators and the fallback', async () => {
  const fallback = new ReductionToOneDevice();
  const closed = vi.spyOn(fallback, 'close');
  const ops = new TestedAllReduce({ fallback });
  await ops.reduce(ReduceOp.SUM, value, value);
  await ops.close();
  expect(closed).toHaveBeenCalledOnce();
  expect(await rejection(ops.reduce(ReduceOp.SUM, value, value))).toMatchObject({ code: 'ERR_COLL_CLOSED' });
});

describe('the log of all-reduce ops', () => {
  const sink = vi.fn<(level: LogLevel, message: string) => void>();
  beforeEach(() => setLogSink((level, message) => sink(level, message)));
  afterEach(() => {
    sink.mockClear();
    setLogSink();
  });

  it('reports the first ten batches', async () => {
    const ops = new TestedAllReduce({ numPacks: 2 });
    for (let time = 0; time < 12; time++)
      await ops.batchReduce(ReduceOp.SUM, [
        [value, value],
        [value, value],
      ]);
    expect(sink).toHaveBeenCalledTimes(10);
    expect(sink).toHaveBeenCalledWith('info', 'batch all-reduce: 2 values in 2 packs over 2 devices with tested');
  });

  it('warns about the first ten batches of sparse values', async () => {
    const ops = new TestedAllReduce();
    for (let time = 0; time < 12; time++) await ops.reduce(ReduceOp.SUM, sparse, sparse);
    const warned = sink.mock.calls.filter(([level]) => level === 'warn');
    expect(warned).toHaveLength(10);
    expect(warned[0]?.[1]).toBe('tested has no efficient all-reduce for its 1 values of indexed slices');
  });

  it('reports a fallback once', async () => {
    const ops = new TestedAllReduce();
    for (let time = 0; time < 3; time++) await ops.reduce(ReduceOp.SUM, value, 'cpu:0');
    const messages = sink.mock.calls.filter(([, message]) => message.startsWith('tested: '));
    expect(messages).toEqual([['info', expect.stringContaining('reduction-to-one is used instead')]]);
  });
});
