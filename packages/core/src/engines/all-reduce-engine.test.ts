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
    setLogSink(sink);
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
