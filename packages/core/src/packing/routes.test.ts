import { directAlgorithm } from '@coll/direct';
import { describe, expect, it, vi } from 'vitest';
import { DrivenCollectives } from '../../test/driven-collectives.js';
import { keepCalls } from '../../test/keep-calls.js';
import { spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import { rejection, thrown } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import type { ReplicaReduceOptions } from '../replicas/replica-collectives.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import type { Mirrored } from '../values/distributed-values.js';
import { toNumbers } from '../values/element.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { type FindRoutes, type Routing, routedPacks } from './routes.js';

const values = [3, 8, 1, 5].map((length) => zeros('float32', [length]));

/** Short values form two packs with variants 5 and 6; each long value is a pack of its own. */
const byLength: FindRoutes = (tensors) => {
  const indices = [...tensors.keys()];
  const isShort = (index: number) => (tensors[index] as Tensor).data.length < 4;
  return [
    { indices: indices.filter((index) => !isShort(index)), packing: { numPacks: 0 } },
    { indices: indices.filter(isShort), packing: { numPacks: 2 }, variant: (pack) => 5 + pack },
  ];
};

describe('routes, which choose the packing and the algorithm of a value', () => {
  it('are chosen for each value before packing', () => {
    const packs = routedPacks(values, 2, { routes: byLength }, 0);
    expect(
      packs.map(({ variant, pieces }) => [
        variant,
        ...pieces.map(({ index, begin, end }) => `${index}:${begin}-${end}`),
      ]),
    ).toEqual([
      [0, '1:0-8'],
      [0, '3:0-5'],
      [5, '0:0-2'],
      [6, '0:2-3', '2:0-1'],
    ]);
  });

  it('never put values of different routes into one pack, even if packs are limited by bytes', () => {
    const packs = routedPacks(values, 2, { routes: byLength }, 1000);
    expect(packs.map(({ variant, pieces }) => [variant, ...pieces.map(({ index }) => index)])).toEqual([
      [0, 3, 1],
      [5, 2, 0],
    ]);
  });

  it.each([
    ['values without a route', [[0], [1]]],
    [
      'a value in two routes',
      [
        [0, 1, 2],
        [2, 3],
      ],
    ],
    ['a value that is not in the batch', [[0, 1, 2, 4]]],
  ])('must contain each value of the batch exactly once: refuses %s', (_, lists) => {
    const routes: FindRoutes = () => lists.map((indices) => ({ indices, packing: {} }));
    expect(thrown(() => routedPacks(values, 2, { routes }, 0))).toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_INTERNAL',
    });
  });

  it('are the same for a single controller and for a replica', async () => {
    const lengths = [3, 8, 1, 5];
    const ofOps: string[] = [];
    const ops = new TestedAllReduce({ routes: byLength, communicator: (_, engine) => keepCalls(engine, ofOps) });
    const two = lengths.map((length) => spread(new Array(length).fill(1), new Array(length).fill(2)));
    const sums = (await ops.batchReduce(
      ReduceOp.SUM,
      two.map((value) => [value, value] as const),
    )) as Mirrored<Tensor>[];
    expect(sums.map(({ primary }) => toNumbers(primary))).toEqual(lengths.map((length) => new Array(length).fill(3)));

    const ofReplica: string[] = [];
    const inner = new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
    const replica = new DrivenCollectives(keepCalls(inner, ofReplica), { routes: byLength });
    const own = lengths.map((length) => tensor(new Int32Array(length).fill(7)));
    expect(await replica.run(replica.allReduce('sum', own))).toEqual(own);
    expect(replica.runSync(replica.allReduce('sum', own))).toEqual(own);
    expect(ofOps).toEqual([
      'all-reduce sum of 8',
      'all-reduce sum of 5',
      'all-reduce sum (variant 5) of 2',
      'all-reduce sum (variant 6) of 2',
    ]);
    expect(ofReplica).toEqual([...ofOps, ...ofOps]);
  });

  it('are cached for repeated batches', async () => {
    const inner = new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
    const routes = vi.fn(byLength);
    const replica = new DrivenCollectives(inner, { routes });
    const route = (lengths: readonly number[], options = {}) => {
      const own = lengths.map((length) => tensor(new Int32Array(length).fill(7)));
      expect(replica.runSync(replica.allReduce('sum', own, options))).toEqual(own);
    };
    for (let step = 0; step < 3; step++) route([3, 8, 1, 5]);
    expect(routes).toHaveBeenCalledTimes(1);
    for (const lengths of [
      [3, 8, 1],
      [3, 8, 1, 6],
      [8, 3, 1, 5],
    ])
      route(lengths);
    route([3, 8, 1, 5], { bytesPerPack: 4 });
    expect(routes).toHaveBeenCalledTimes(5);
  });
});

describe('replicas with different packing', () => {
  const equal = [1, 2].map((element) => tensor(Int32Array.of(element)));

  it.each<[string, Routing, Routing, ReplicaReduceOptions]>([
    ['into another number of packs', { packing: { numPacks: 2 } }, {}, {}],
    ['in another order', {}, {}, { bytesPerPack: 100 }],
    ['for another variant', { routes: () => [{ indices: [0, 1], packing: {}, variant: () => 1 }] }, {}, {}],
  ])('fail with the same error on all replicas: %s', async (_, one, other, options) => {
    const group = createThreadGroup({ size: 2, maxBytes: 2 ** 20, spins: 0 });
    const replicas = [one, other].map(
      (routing, rank) =>
        new DrivenCollectives(new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() }), routing),
    );
    const errors = await Promise.all(
      replicas.map((replica, rank) =>
        rejection(replica.run(replica.allReduce('sum', equal, rank === 1 ? options : {}))),
      ),
    );
    for (const error of errors) expect(error).toMatchObject({ code: expect.stringMatching(/MISMATCH/), rank: 1 });
  });
});
