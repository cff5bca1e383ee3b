import { afterEach, describe, expect, it, vi } from 'vitest';
import { segmentsEngine } from '../../test/keep-segments.js';
import { on, spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import { thrown } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { setLogSink } from '../support/logger.js';
import { Mirrored } from '../values/distributed-values.js';
import type { Tensor } from '../values/tensor.js';
import { resolveEngine } from './engines.js';
import { portableWorld } from './worlds.js';

const devices = ['cpu:0', 'cpu:1'];

afterEach(() => setLogSink());

describe('the engine of an all-reduce', () => {
  it('is the fastest available engine, and explain reports why', () => {
    const { engine, candidates } = resolveEngine();
    expect(new TestedAllReduce({ engine: undefined }).explain()).toMatchObject({
      engine: engine.name,
      engines: candidates,
    });
  });

  it('is exactly the requested engine', () => {
    expect(new TestedAllReduce({ engine: 'js' }).explain()).toMatchObject({ engine: 'js', engines: [{ name: 'js' }] });
    expect(thrown(() => new TestedAllReduce({ engine: 'cuda' as never }))).toMatchObject({ code: 'ERR_COLL_VALUE' });
  });

  it('is the engine of the world; a request for another engine is refused', () => {
    const world = portableWorld(devices, segmentsEngine([]));
    expect(new TestedAllReduce({ world }).explain()).toMatchObject({ engine: 'js', engines: [{ name: 'js' }] });
    expect(new TestedAllReduce({ world, engine: 'js' }).explain().engine).toBe('js');
    expect(thrown(() => new TestedAllReduce({ world, engine: 'wasm' }))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/engine is "wasm", but the world of these ops uses "js"/),
    });
  });

  it('is chosen for values with more components than the world has devices, if it has chosen none', async () => {
    const sink = vi.fn();
    setLogSink((level, message) => sink(level, message));
    const { resolution: _, ...world } = portableWorld(devices, segmentsEngine([]));
    const ops = new TestedAllReduce({ world });
    await ops.reduce(ReduceOp.SUM, spread([1], [2]), spread([1], [2]));
    expect(ops.explain()).toMatchObject({ engine: 'js', engines: [] });
    const asked = () => sink.mock.calls.filter(([, line]) => line.includes('engine'));
    expect(asked()).toEqual([]);
    await ops.reduce(ReduceOp.SUM, spread([1], [2], [3]), spread([1], [2], [3]));
    expect(asked()).toMatchObject([['info', expect.stringMatching(/^using the .* engine: native was refused/)]]);
  });

  it('is the engine of the world also for values with more components than the world has devices', async () => {
    const calls: string[] = [];
    const ops = new TestedAllReduce({ world: portableWorld(devices, segmentsEngine(calls)) });
    const three = spread([1], [2], [3]);
    await ops.batchReduce(ReduceOp.SUM, [
      [three, three],
      [three, three],
    ]);
    expect(calls).toEqual(['all-reduce 1+1']);
  });
});

describe('packs that are segments of one buffer', () => {
  const value = spread([1, 2], [30, 40]);
  const other = spread([5], [6]);
  const reduce = async (setup: { readonly numPacks?: number }, bytesPerPack = 0) => {
    const calls: string[] = [];
    const ops = new TestedAllReduce({ ...setup, world: portableWorld(devices, segmentsEngine(calls)) });
    const pairs = [value, other, value].map((item) => [item, item] as const);
    return { calls, results: (await ops.batchReduce(ReduceOp.SUM, pairs, { bytesPerPack })) as Mirrored<Tensor>[] };
  };
  const sums = [
    new Mirrored([on('cpu:0', 31, 42), on('cpu:1', 31, 42)]),
    new Mirrored([on('cpu:0', 11), on('cpu:1', 11)]),
    new Mirrored([on('cpu:0', 31, 42), on('cpu:1', 31, 42)]),
  ];

  it('are reduced without a copy, also a single pack of all values', async () => {
    expect(await reduce({})).toEqual({ calls: ['all-reduce 2+1+2'], results: sums });
  });

  it('of a given number of bytes are reduced from the last value to the first', async () => {
    expect(await reduce({}, 9)).toEqual({ calls: ['all-reduce 2+1'], results: sums });
  });

  it('that split tensors are reduced without a copy', async () => {
    expect(await reduce({ numPacks: 3 })).toEqual({ calls: ['all-reduce 1+2'], results: sums });
  });
});

describe('packs of many small values', () => {
  const values = Array.from({ length: 9 }, (_, index) => spread([index, 1], [2, 3]));
  const make = (calls: string[]) => new TestedAllReduce({ world: portableWorld(devices, segmentsEngine(calls)) });
  const pairs = values.map((value) => [value, value] as const);
  const lengths = values.map(() => 2).join('+');

  it.each([ReduceOp.SUM, ReduceOp.MEAN] as const)(
    'are joined for %s, and each result has memory of its own',
    async (op) => {
      const calls: string[] = [];
      const ops = make(calls);
      for (let call = 0; call < 2; call++) {
        const results = (await ops.batchReduce(op, pairs)) as Mirrored<Tensor>[];
        const parts = op === ReduceOp.MEAN ? 2 : 1;
        const tensors = results.flatMap((result) => result.values);
        expect(tensors.map(({ data }) => [...data])).toEqual(
          values.flatMap((_, index) => devices.map(() => [(index + 2) / parts, 4 / parts])),
        );
        expect(tensors.every(({ data }) => data.buffer.byteLength === data.byteLength)).toBe(true);
        expect(new Set(tensors.map(({ data }) => data.buffer)).size).toBe(2 * values.length);
      }
      expect(calls).toEqual([]);
    },
  );

  it('are joined for results that all devices share', async () => {
    const calls: string[] = [];
    const results = (await make(calls).batchReduce(ReduceOp.SUM, pairs, { sharedResult: true })) as Mirrored<Tensor>[];
    expect(results.map((result) => result.values.map(({ data }) => [...data]))).toEqual(
      values.map((_, index) => devices.map(() => [index + 2, 4])),
    );
    expect(results.every((result) => result.values[0]?.data === result.values[1]?.data)).toBe(true);
    expect(calls).toEqual([]);
  });

  it('are not joined if the caller passes memory, or if values are large', async () => {
    const calls: string[] = [];
    const into = values.map(() => spread([0, 0], [0, 0]));
    await make(calls).batchReduce(ReduceOp.SUM, pairs, { into });
    expect(into.map((result) => result.values.map(({ data }) => [...data]))).toEqual(
      values.map((_, index) => devices.map(() => [index + 2, 4])),
    );
    const large = values.map(() => spread(Array(65).fill(1), Array(65).fill(2)));
    await make(calls).batchReduce(
      ReduceOp.SUM,
      large.map((value) => [value, value] as const),
    );
    expect(calls).toEqual([`all-reduce ${lengths}`, `all-reduce ${lengths.replaceAll('2', '65')}`]);
  });
});
