import { direct } from '@coll/direct';
import { allGather, axisIndex, axisSize, broadcast, dataParallel, pmax, pmean, pmin, psum } from '@coll/jax-js';
import { MirroredStrategy, type ReplicaContext } from '@coll/strategy';
import { grad, jit, numpy as np, vmap } from '@jax-js/jax';
import { afterAll, describe, expect, it } from 'vitest';
import { both, resultsOf } from './fixtures/results-of.ts';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
const single = new MirroredStrategy({ devices: ['cpu:0'], crossDeviceOps: direct });
afterAll(() => Promise.all([strategy.close(), single.close()]));

/** What each of two replicas returns, or the error that it gets. */
const onBoth = <Result>(replica: (context: ReplicaContext, id: number) => Promise<Result>) =>
  resultsOf(strategy, replica);

/** The errors of both replicas. */
const errorsOf = (replica: (context: ReplicaContext, id: number) => Promise<unknown>) =>
  onBoth(async (context, id) => {
    await replica(context, id);
    return 'went through';
  });

describe('collectives on trees', () => {
  const treeOf = (id: number) => ({
    b: [np.array([id, 1, 2 + id]), { w: np.array([[1 + id, 2]]) }],
    a: np.array(4 * id),
  });
  const values = async (tree: Promise<ReturnType<typeof treeOf>>) => {
    const { a, b } = await tree;
    const [first, second] = b as [np.Array, { w: np.Array }];
    return [a.js(), first.js(), second.w.js()];
  };

  it('reduce, with the same results on both replicas', async () => {
    const results = await onBoth(async (context, id) => [
      await values(pmean(context, treeOf(id))),
      await values(psum(context, treeOf(id))),
      await values(pmax(context, treeOf(id))),
      await values(pmin(context, treeOf(id))),
    ]);
    expect(results).toEqual(
      both([
        [2, [0.5, 1, 2.5], [[1.5, 2]]],
        [4, [1, 2, 5], [[3, 4]]],
        [4, [1, 1, 3], [[2, 2]]],
        [0, [0, 1, 2], [[1, 2]]],
      ]),
    );
  });

  it('gather along a new first axis, and broadcast from any replica', async () => {
    const results = await onBoth(async (context, id) => [
      await values(allGather(context, treeOf(id))),
      await values(broadcast(context, treeOf(id))),
      await values(broadcast(context, treeOf(id), 1)),
    ]);
    const gathered = [
      [0, 4],
      [
        [0, 1, 2],
        [1, 1, 3],
      ],
      [[[1, 2]], [[2, 2]]],
    ]; // prettier-ignore
    expect(results).toEqual(both([gathered, [0, [0, 1, 2], [[1, 2]]], [4, [1, 1, 3], [[2, 2]]]]));
  });

  it('return the tree itself with one replica, except allGather', async () => {
    const tree = { w: np.array([1, 2]) };
    await single.run(async (context) => {
      for (const collective of [pmean, psum, pmax, pmin, broadcast]) expect(await collective(context, tree)).toBe(tree);
      expect((await allGather(context, tree)).w.js()).toEqual([[1, 2]]);
    });
  });

  it('keep the order of names, by which jax-js compares structures', async () => {
    const names = await onBoth(async (context, id) =>
      Object.keys(
        await pmean(context, id === 0 ? { b: np.ones([1]), a: np.ones([1]) } : { a: np.ones([1]), b: np.ones([1]) }),
      ),
    );
    expect(names).toEqual([
      ['b', 'a'],
      ['a', 'b'],
    ]); // prettier-ignore
  });

  it('work on arrays without elements, and on trees without arrays', async () => {
    const shapes = await onBoth(async (context) => [
      (await pmean(context, np.zeros([0, 3]))).shape,
      (await allGather(context, np.zeros([0, 3]))).shape,
      await pmean(context, { layers: [] }),
    ]);
    expect(shapes).toEqual(both([[0, 3], [2, 0, 3], { layers: [] }]));
  });

  it('consume their arrays, and give the caller the only reference of the results', async () => {
    const counts = await onBoth(async (context) => {
      const kept = np.array([1, 2, 3]);
      const result = await psum(context, [kept.ref, np.array([1, 2])]);
      const sent = np.array([4, 5]);
      const [received] = await broadcast(context, [sent]);
      return [kept.refCount, ...result.map(({ refCount }) => refCount), received?.refCount];
    });
    expect(counts).toEqual(both([1, 1, 1, 1]));
  });
});

it('axisIndex and axisSize are the place of the replica', async () => {
  expect(await onBoth(async (context) => [axisIndex(context), axisSize(context)])).toEqual([
    [0, 2],
    [1, 2],
  ]); // prettier-ignore
});

describe('dtypes', () => {
  const integers = ['int32', 'uint32'] as const;

  it.each(integers)('%s is summed, compared, gathered and broadcast', async (dtype) => {
    const make = (id: number) => np.array([id, 5, 6 - id], { dtype: np[dtype] });
    const results = await onBoth(async (context, id) => {
      const all = [
        await psum(context, make(id)),
        await pmax(context, make(id)),
        await allGather(context, make(id)),
        await broadcast(context, make(id), 1),
      ];
      return all.map((array) => [array.dtype, array.js()]);
    });
    const lists = [
      [1, 10, 11],
      [1, 5, 6],
      [
        [0, 5, 6],
        [1, 5, 5],
      ],
      [1, 5, 5],
    ]; // prettier-ignore
    expect(results).toEqual(both(lists.map((list) => [dtype, list])));
  });

  it('bool is compared, gathered and broadcast', async () => {
    const make = (id: number) => np.array([id === 0, true, false]);
    const results = await onBoth(async (context, id) => {
      const all = [await pmax(context, make(id)), await pmin(context, make(id)), await broadcast(context, make(id), 1)];
      return all.map((array) => [array.dtype, Array.from(array.dataSync())]);
    });
    const lists = [
      [1, 1, 0],
      [0, 1, 0],
      [0, 1, 0],
    ]; // prettier-ignore
    expect(results).toEqual(both(lists.map((list) => ['bool', list])));
  });

  it('without a mean or sum, and those that the runtime cannot read, are refused by name', async () => {
    const make = (dtype: string) => ({ p: np.zeros([2], { dtype: dtype as np.DType }) });
    expect(await errorsOf((context) => pmean(context, make('int32')))).toEqual(
      both('ERR_COLL_VALUE pmean: p is int32, which has no mean; use astype(np.float32) first'),
    );
    expect(await errorsOf((context) => psum(context, make('bool')))).toEqual(
      both('ERR_COLL_VALUE psum: p is bool, which has no sum; use astype(np.int32) first'),
    );
    const unread = await errorsOf((context) => pmean(context, make('float64')));
    if ('Float16Array' in globalThis) expect(unread).toEqual(both('went through'));
    else expect(unread).toEqual(both(expect.stringMatching(/^ERR_COLL_VALUE pmean: p is float64, .*use Node 24 or/)));
  });
});

describe('trees that cannot be exchanged', () => {
  it('differ in a path, shape or dtype: the same error on both replicas names the first array', async () => {
    const make = (id: number) => [{ w: np.zeros([2, 3]), b: np.zeros(id === 0 ? [3] : [4]) }];
    expect(await errorsOf((context, id) => pmean(context, { layers: make(id) }))).toEqual(
      both(
        'ERR_COLL_MISMATCH pmean: replicas have different trees: layers[0].b is float32 [3] on replica 0, float32 [4] on replica 1',
      ),
    );
    expect(await errorsOf((context, id) => psum(context, id === 0 ? [np.ones([1])] : []))).toEqual(
      both(
        'ERR_COLL_MISMATCH psum: replicas have different trees: [0] is float32 [1] on replica 0, missing on replica 1',
      ),
    );
    const ofDType = (id: number) => np.zeros([1], { dtype: id === 0 ? np.float32 : np.int32 });
    expect(await errorsOf((context, id) => broadcast(context, { 'a b': ofDType(id) }))).toEqual(
      both(expect.stringContaining('["a b"] is float32 [1] on replica 0, int32 [1] on replica 1')),
    );
    expect(await errorsOf((context, id) => (id === 0 ? pmax : pmin)(context, np.ones([1])))).toEqual(
      both('ERR_COLL_MISMATCH replicas call different functions: pmax on replica 0, pmin on replica 1'),
    );
    expect(await errorsOf((context, id) => broadcast(context, np.ones([1]), id))).toEqual(
      both(expect.stringContaining('broadcast from replica 0 on replica 0, broadcast from replica 1 on replica 1')),
    );
  });

  it('hold tracers, other values or themselves: the error says what to do', async () => {
    const messages: unknown[] = [];
    await single.run(async (context) => {
      const catching = (tree: object) => {
        messages.push(
          pmean(context, tree).then(
            () => 'went through',
            ({ message }) => message,
          ),
        );
      };
      // A traced function would fail on the promise before anybody saw that it is rejected.
      const tracing = (x: np.Array): np.Array => pmean(context, { g: x }) as never;
      const traced = /pmean: g is being traced; call pmean outside of jit, grad and vmap, /;
      expect(() => jit(tracing)(np.array([1, 2]))).toThrow(traced);
      expect(() => grad(tracing)(np.array([1, 2]))).toThrow(traced);
      expect(() => vmap(tracing)(np.array([[1, 2]]))).toThrow(traced);
      const step = dataParallel(context, (x: np.Array) => [x.ref.sum(), x]);
      expect(() => jit((x: np.Array): np.Array => step(x) as never)(np.array([1, 2]))).toThrow(
        'dataParallel: arguments[0] is being traced; wrap the traced function in it, as dataParallel(context, jit(valueAndGrad(loss))) does',
      );
      catching([0.5]);
      catching({ w: new Float32Array(2) });
      const circle: unknown[] = [];
      circle.push(circle);
      catching({ circle });
      let deep: unknown[] = [];
      for (let level = 0; level < 200; level++) deep = [deep];
      catching(deep);
      const { array } = np;
      const foreign = array([1]);
      catching({ w: { dtype: 'float32', shape: [1], ref: foreign, data: () => foreign.data() } });
      expect(await Promise.all(messages)).toEqual([
        'pmean: [0] must be an array of jax-js, got 0.5',
        expect.stringMatching(/^pmean: w must be an array of jax-js, got Float32Array/),
        'pmean: circle[0] contains itself',
        'pmean: a tree must be at most 100 levels deep',
        expect.stringMatching(/^pmean: w belongs to another copy of @jax-js\/jax; install one version, /),
      ]);
    });
  });

  it('have a root that is no replica', async () => {
    expect(await errorsOf((context) => broadcast(context, np.ones([1]), 2))).toEqual(
      both('ERR_COLL_VALUE broadcast: root must be the number of a replica, 0 to 1, got 2'),
    );
  });
});
