import { IndexedSlices, type Mirrored, PerReplica, ReduceOp, setLogSink, type Tensor, tensor } from '@coll/core';
import { portableWorld } from '@coll/core/plugin';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MultiWorkerAllReduce } from './multi-worker-all-reduce.js';
import { requireWorkerByWorker } from './workers.js';

const workerDevices = ['/job:worker/task:0', '/job:worker/task:1'];
const [first, second, third, fourth] = workerDevices.flatMap((task) => [`${task}/gpu:0`, `${task}/gpu:1`]) as [
  string,
  string,
  string,
  string,
];
const inTurns = [first, third, second, fourth];

const ones = (devices: readonly string[]) =>
  new PerReplica(devices.map((device) => tensor(Float32Array.of(1), { device })));

beforeEach(() => setLogSink(() => {}));
afterEach(() => setLogSink());

describe('requireWorkerByWorker', () => {
  const workers = { workers: 2, gpusPerWorker: 2 };

  it('accepts devices grouped by worker, and devices of a single task', () => {
    expect(() => requireWorkerByWorker([first, second, third, fourth], workers)).not.toThrow();
    expect(() => requireWorkerByWorker(['cpu:0', 'cpu:1', 'cpu:2', 'cpu:3'], workers)).not.toThrow();
    expect(() => requireWorkerByWorker(['', ''], workers)).not.toThrow();
  });
});

describe('devices of several workers', () => {
  it.each<[string, readonly string[], RegExp]>([
    ['interleaved', inTurns, /must be grouped by worker, got \[\/job:worker\/task:0/],
    [
      'more on one worker than on another',
      [first, second, third],
      /the same number of devices, but one has 2 and another 1/,
    ],
    [
      'of more workers than were listed',
      [first, third, '/job:worker/task:2/gpu:0', '/job:worker/task:3/gpu:0'],
      /there are 2 workers, but \[.*\] are devices of 4/,
    ],
  ])('are refused if they are %s', async (_, devices, message) => {
    const ops = new MultiWorkerAllReduce(workerDevices, 2);
    const value = ones(devices);
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toThrow(message);
    await expect(ops.batchReduce(ReduceOp.SUM, [[value, value]])).rejects.toThrow(message);
    expect(() => new MultiWorkerAllReduce(workerDevices, 2, {}, portableWorld(devices))).toThrow(message);
  });

  it('may be in any order for calls that do not distinguish workers', async () => {
    const ops = new MultiWorkerAllReduce(workerDevices, 2);
    const toOne = (await ops.reduce(ReduceOp.SUM, ones(inTurns), first)) as Tensor;
    expect(toOne.data).toEqual(Float32Array.of(4));
    const sparse = new PerReplica(ones(inTurns).values.map((rows) => new IndexedSlices(rows, Int32Array.of(0))));
    const { values } = (await ops.reduce(ReduceOp.SUM, sparse, sparse)) as Mirrored<IndexedSlices>;
    expect(values[0]?.values.data).toEqual(Float32Array.of(1, 1, 1, 1));
    expect(
      () => new MultiWorkerAllReduce(workerDevices, 2, { allReduceSpec: 'nccl' }, portableWorld(inTurns)),
    ).not.toThrow();
  });
});
