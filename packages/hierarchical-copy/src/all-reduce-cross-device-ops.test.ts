import { CrossDeviceOps, createRegistry, definePlugin, PerReplica, ReduceOp, setLogSink, tensor } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AllReduceCrossDeviceOps, AllReduceCrossTowerOps } from './all-reduce-cross-device-ops.js';
import { HierarchicalCopyAllReduce } from './hierarchical-copy-all-reduce.js';

const devices = ['cpu:0', 'cpu:1', 'cpu:2'];
const value = new PerReplica(devices.map((device, rank) => tensor(Float32Array.of(rank, 0.1 * rank, 5), { device })));
const other = new PerReplica(devices.map((device) => tensor(Float64Array.of(1 / 3), { device })));
const pairs = [
  [value, value],
  [other, other],
] as const;

const lines: string[] = [];
beforeEach(() => setLogSink((level, line) => level === 'warn' && lines.push(line)));
afterEach(() => {
  lines.length = 0;
  setLogSink();
});

describe.each(['hierarchical_copy', 'ring', 'NCCL', ''])('AllReduceCrossDeviceOps, allReduceAlg %j', (allReduceAlg) => {
  const options = { allReduceAlg, numPacks: 2 };

  it('uses hierarchical copy', async () => {
    await using ops = new AllReduceCrossDeviceOps(options);
    await using plain = new HierarchicalCopyAllReduce({ numPacks: 2 });
    expect(ops).toBeInstanceOf(CrossDeviceOps);
    expect(ops.explain()).toEqual(plain.explain());
    for (const op of [ReduceOp.SUM, ReduceOp.MEAN]) {
      expect(await ops.reduce(op, value, value)).toEqual(await plain.reduce(op, value, value));
      expect(await ops.reduce(op, value, 'cpu:7')).toEqual(await plain.reduce(op, value, 'cpu:7'));
      expect(await ops.batchReduce(op, pairs)).toEqual(await plain.batchReduce(op, pairs));
    }
    expect(await ops.gather(value, devices, 0)).toEqual(await plain.gather(value, devices, 0));
    expect(await ops.broadcast(value.primary, devices)).toEqual(await plain.broadcast(value.primary, devices));
    expect(ops.explain()).toEqual(plain.explain());
  });

  it('warns once that it is deprecated, and names its replacement', () => {
    for (let time = 0; time < 2; time++) new AllReduceCrossDeviceOps(options);
    expect(lines).toEqual(['AllReduceCrossDeviceOps is deprecated; use HierarchicalCopyAllReduce instead']);
  });

  it('refuses a negative number of packs', () => {
    expect(() => new AllReduceCrossDeviceOps({ ...options, numPacks: -1 })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });
});

describe.each([{}, { allReduceAlg: 'nccl' }])('AllReduceCrossDeviceOps with options %j', (options) => {
  /** A registry with a test double of the nccl plug-in. */
  function registryWithDouble(probe?: () => { available: false; reason: string } | { available: true }) {
    const registry = createRegistry();
    const create = vi.fn(() => new ReductionToOneDevice());
    registry.register(definePlugin({ name: 'nccl', module: 'file:///double.js', create, ...(probe ? { probe } : {}) }));
    return { registry, create };
  }

  it('creates the plug-in registered as nccl, and passes the other options to it', async () => {
    const { registry, create } = registryWithDouble();
    const ops = new AllReduceCrossDeviceOps({ ...options, registry, numPacks: 3 });
    expect(ops.explain().name).toBe('nccl');
    const sums = await Promise.all([0, 1].map(() => ops.reduce(ReduceOp.SUM, value, 'cpu:0')));
    const sum = Float32Array.of(3, Math.fround(0.1) + Math.fround(0.2), 15);
    expect(sums).toMatchObject([{ data: sum }, { data: sum }]);
    expect(create.mock.calls).toEqual([[{ numPacks: 3 }, undefined]]);
    expect(lines).toEqual(['AllReduceCrossDeviceOps is deprecated; use NcclAllReduce instead']);
    await ops.close();
    await expect(create.mock.results[0]?.value.reduce(ReduceOp.SUM, value, value)).rejects.toMatchObject({
      code: 'ERR_COLL_CLOSED',
    });
  });

  it('throws at once if nccl is not registered', () => {
    expect(() => new AllReduceCrossDeviceOps({ ...options, registry: createRegistry() })).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_UNKNOWN_PLUGIN',
        message: expect.stringContaining('npm install @coll/nccl'),
      }),
    );
  });

  it('throws from calls while nccl is not available, and works once it is', async () => {
    let isReady = false;
    const { registry } = registryWithDouble(() =>
      isReady ? { available: true } : { available: false, reason: 'there is no GPU' },
    );
    const ops = new AllReduceCrossDeviceOps({ ...options, registry });
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
      message: expect.stringContaining('there is no GPU'),
    });
    isReady = true;
    expect(await ops.broadcast(1, 'cpu:0')).toMatchObject({ device: expect.stringContaining('CPU:0') });
  });
});

it.each(['hierarchical_copy', 2, null])('AllReduceCrossDeviceOps refuses %j instead of options', (fields) => {
  expect(() => new AllReduceCrossDeviceOps(fields as never)).toThrow(
    expect.objectContaining({
      name: 'ValueError',
      message: expect.stringContaining('options must be an object, { allReduceAlg'),
    }),
  );
});

it('AllReduceCrossDeviceOps is also exported under its older name, AllReduceCrossTowerOps', () => {
  expect(AllReduceCrossTowerOps).toBe(AllReduceCrossDeviceOps);
});
