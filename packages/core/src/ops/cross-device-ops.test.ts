import { directAlgorithm } from '@coll/direct';
import { describe, expect, it, vi } from 'vitest';
import { RecordingOps } from '../../test/recording-ops.js';
import { rejection, thrown } from '../../test/thrown.js';
import { CommunicationOptions } from '../collectives/communication-options.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { portableWorld } from '../engines/worlds.js';
import { ReplicaGroup } from '../replicas/replica-group.js';
import { canonicalize } from '../values/device.js';
import { PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor, tensorSymbol, zeros } from '../values/tensor.js';
import { CrossDeviceOps } from './cross-device-ops.js';

const on = (device: string, ...elements: readonly number[]) => tensor(elements, { device });
const [a, b] = [on('cpu:0', 1, 2), on('cpu:1', 3, 4)];
const both = new PerReplica([a, b]);
const slices = (device: string) => new IndexedSlices(on(device, 5), tensor(new Int32Array(1), { device }), [3]);
const cpu0 = canonicalize('cpu:0');

describe('reduce of cross-device ops', () => {
  it('validates a call and passes it to reduceImplementation', async () => {
    const ops = new RecordingOps();
    const { signal } = new AbortController();
    const result = await ops.reduce(ReduceOp.MEAN, both, 'cpu:0', { bytesPerPack: 4, signal });
    expect(result).toBe(a);
    const call = { options: new CommunicationOptions({ bytesPerPack: 4 }), signal };
    expect(ops.reduced.mock.calls).toEqual([['MEAN', both, 'cpu:0', call]]);
  });

  it('treats a value that is not distributed as one component', async () => {
    const ops = new RecordingOps();
    for (const value of [a, new Float64Array([1, 2]), 7, { [tensorSymbol]: () => a }, slices('cpu:0')]) {
      await ops.reduce(ReduceOp.SUM, value, 'cpu:1');
    }
    expect(ops.reduced.mock.calls.map(([, value]) => value.values)).toEqual([
      [a],
      [tensor([1, 2])],
      [tensor(7)],
      [a],
      [slices('cpu:0')],
    ]);
  });

  it('converts components that are typed arrays to tensors', async () => {
    const ops = new RecordingOps();
    await ops.reduce(ReduceOp.SUM, new PerReplica([Float32Array.of(1), tensor([2], { dtype: 'float32' })]), 'cpu:1');
    expect(ops.reduced.mock.calls[0]?.[1].values).toEqual([tensor(Float32Array.of(1)), tensor(Float32Array.of(2))]);
  });

  it('copies a single component that is already on the destination, whatever the op', async () => {
    const ops = new RecordingOps();
    const copy = (await ops.reduce('nonsense' as never, new PerReplica([a]), '/device:CPU:0')) as Tensor;
    expect(copy).toEqual({ ...a, device: cpu0 });
    expect(copy.data).not.toBe(a.data);
    const own = await ops.reduce('nonsense' as never, new PerReplica([a]), new PerReplica([a]));
    expect(own).toEqual(a);
    const sparse = await ops.reduce('nonsense' as never, slices('cpu:0'), 'cpu:0');
    expect(sparse).toEqual(slices(cpu0));
    expect(ops.reduced).not.toHaveBeenCalled();
  });

  it('calls reduceImplementation for a single component that is not yet on the destination', async () => {
    const ops = new RecordingOps();
    await ops.reduce(ReduceOp.SUM, a, 'cpu:1');
    await ops.reduce(ReduceOp.SUM, a, ['cpu:0', 'cpu:1']);
    await ops.reduce(ReduceOp.SUM, tensor([1]), 'cpu:0');
    await ops.reduce(ReduceOp.SUM, new PerReplica([a, a]), 'cpu:0');
    expect(ops.reduced).toHaveBeenCalledTimes(4);
  });

  it.each<readonly [string, unknown[], object]>([
    ['options', [ReduceOp.SUM, 'x', 5, { bytesPerPack: -1 }], { name: 'ValueError', message: /bytesPerPack/ }],
    ['the value', [ReduceOp.SUM, 'x', 5], { name: 'ValueError', message: /value must be a tensor/ }],
    ['a list as value', [ReduceOp.SUM, [a, b], 'cpu:0'], { name: 'ValueError', message: /value must be a tensor/ }],
    ['destinations', ['sum', both, 5], { name: 'ValueError', code: 'ERR_COLL_DESTINATION' }],
    ['the op', ['sum', both, 'cpu:0'], { name: 'ValueError', message: /"sum" is not a reduce op/ }],
    ['that the value has components', [ReduceOp.SUM, new PerReplica([]), 'cpu:0'], { message: /must be non-empty/ }],
    ['shapes', [ReduceOp.SUM, new PerReplica([a, on('cpu:1', 1)]), 'cpu:0'], { name: 'InvalidArgumentError', rank: 1 }],
    ['dtypes', [ReduceOp.SUM, new PerReplica([a, zeros('int8', [2])]), 'cpu:0'], { name: 'InternalError', rank: 1 }],
  ])(
    'checks %s before it calls reduceImplementation',
    async (_, args, { message, ...fields }: { message?: RegExp }) => {
      const ops = new RecordingOps();
      const error = await rejection(ops.reduce(...(args as Parameters<CrossDeviceOps['reduce']>)));
      expect(error).toMatchObject({ ...fields, ...(message ? { message: expect.stringMatching(message) } : {}) });
      expect(ops.reduced).not.toHaveBeenCalled();
    },
  );
});

describe('batchReduce of cross-device ops', () => {
  it('reduces pair by pair in order if a subclass does not override it', async () => {
    const ops = new RecordingOps();
    const results = await ops.batchReduce(
      ReduceOp.SUM,
      [
        [both, both],
        [b, 'cpu:0'],
      ],
      { timeoutSeconds: 3 },
    );
    expect(results).toEqual([a, b]);
    const call = { options: new CommunicationOptions({ timeoutSeconds: 3 }), signal: undefined };
    expect(ops.reduced.mock.calls).toEqual([
      ['SUM', both, both, { ...call, names: [0] }],
      ['SUM', new PerReplica([b]), 'cpu:0', { ...call, names: [1] }],
    ]);
  });

  it('accepts any iterable of pairs', async () => {
    const ops = new RecordingOps();
    const pairs = function* () {
      yield [both, 'cpu:0'] as const;
    };
    expect(await ops.batchReduce(ReduceOp.SUM, pairs())).toEqual([a]);
  });

  it('returns an empty list for an empty batch', async () => {
    expect(await new RecordingOps().batchReduce('nonsense' as never, [])).toEqual([]);
  });

  it('returns single components themselves if all are already on their destinations', async () => {
    const ops = new RecordingOps();
    const results = await ops.batchReduce('nonsense' as never, [
      [new PerReplica([a]), 'cpu:0'],
      [a, a],
    ]);
    expect(results).toEqual([a, a]);
    expect(results.every((result) => result === a)).toBe(true);
    expect(ops.reduced).not.toHaveBeenCalled();
  });

  it('calls reduceImplementation if one value is on another device than the first', async () => {
    const ops = new RecordingOps();
    await ops.batchReduce(ReduceOp.SUM, [
      [a, 'cpu:0'],
      [b, 'cpu:1'],
    ]);
    expect(ops.reduced).toHaveBeenCalledTimes(2);
  });

  it.each<readonly [string, unknown[], object]>([
    ['that pairs are a list', ['SUM', both], { name: 'ValueError', operation: 'batch-reduce' }],
    ['that pairs are not text', ['SUM', 'ab'], { name: 'ValueError', operation: 'batch-reduce' }],
    ['that a pair is an array', ['SUM', [{ 0: both, 1: 'cpu:0', length: 2 }]], { name: 'ValueError' }],
    ['that a pair has two items', ['SUM', [[both]]], { name: 'ValueError', operation: 'batch-reduce' }],
    ['that a pair has no third item', ['SUM', [[both, 'cpu:0', 1]]], { name: 'ValueError' }],
    [
      'every destination',
      [
        'SUM',
        [
          [both, 'cpu:0'],
          [both, 1],
        ],
      ],
      { code: 'ERR_COLL_DESTINATION' },
    ],
    ['options', ['SUM', 1, { bytesPerPack: -1 }], { message: expect.stringContaining('bytesPerPack') }],
    ['the op', ['mean', [[both, 'cpu:0']]], { message: expect.stringContaining('"mean" is not a reduce op') }],
    [
      'every value',
      [
        'SUM',
        [
          [both, both],
          [new PerReplica([a, tensor(1)]), both],
        ],
      ],
      { name: 'InvalidArgumentError' },
    ],
  ])('checks %s before anything is reduced', async (_, args, error) => {
    const ops = new RecordingOps();
    expect(await rejection(ops.batchReduce(...(args as Parameters<CrossDeviceOps['batchReduce']>)))).toMatchObject(
      error,
    );
    expect(ops.reduced).not.toHaveBeenCalled();
  });
});

describe('ops without a world', () => {
  it('refuse collectives inside a replica, and say how to get them', async () => {
    const ops = new RecordingOps();
    const error = {
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
      message: expect.stringContaining('let a strategy create it, or pass a world'),
    };
    expect(await rejection(ops.allReduce(ReduceOp.SUM, a, 0))).toMatchObject({ ...error, operation: 'allReduce' });
    expect(thrown(() => ops.allReduceSync(ReduceOp.SUM, a, 0))).toMatchObject({ ...error, operation: 'allReduceSync' });
  });

  it('cannot create a replica group, which needs a world and an algorithm', () => {
    const world = portableWorld(['cpu:0', 'cpu:1']);
    const groups = [
      new RecordingOps(world),
      new RecordingOps(undefined, { algorithm: directAlgorithm() }),
      new RecordingOps(),
    ];
    expect(groups.map(({ replicaGroup }) => replicaGroup)).toEqual([undefined, undefined, undefined]);
    expect(new RecordingOps(world, { algorithm: directAlgorithm() }).replicaGroup).toBeInstanceOf(ReplicaGroup);
  });

  it('list each note once in explain()', () => {
    const ops = new RecordingOps();
    expect([ops.remark('one'), ops.remark('two'), ops.remark('one')]).toEqual([true, true, false]);
    expect(ops.explain()).toEqual({ name: 'recording', engine: 'js', engines: [], notes: ['one', 'two'] });
  });

  it('refuse every call once they are closed', async () => {
    const ops = new RecordingOps();
    await ops.close();
    const calls = [
      ops.reduce(ReduceOp.SUM, both, both),
      ops.batchReduce(ReduceOp.SUM, [[both, both]]),
      ops.broadcast(a, 'cpu:0'),
      ops.gather(both, both, 0),
    ];
    for (const error of await Promise.all(calls.map(rejection)))
      expect(error).toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CLOSED' });
    expect(ops.reduced).not.toHaveBeenCalled();
  });

  it('are closed by close() or at the end of an await using block', async () => {
    const ops = new RecordingOps();
    const close = vi.spyOn(ops, 'close');
    await ops[Symbol.asyncDispose]();
    expect(close).toHaveBeenCalledOnce();
  });
});

describe('instanceof CrossDeviceOps', () => {
  it('recognises ops of a separately installed copy of the library, and nothing else', async () => {
    vi.resetModules();
    const other = await import('./cross-device-ops.js');
    class Foreign extends other.CrossDeviceOps {
      readonly name = 'foreign';
      protected override async reduceImplementation(): Promise<never> {
        throw new Error('only its class is looked at');
      }
    }
    expect(other.CrossDeviceOps).not.toBe(CrossDeviceOps);
    expect(new Foreign()).toBeInstanceOf(CrossDeviceOps);
    expect(new Foreign()).not.toBeInstanceOf(RecordingOps);
    expect([{ name: 'foreign' }, undefined, null].filter((value) => value instanceof CrossDeviceOps)).toEqual([]);
  });
});
