import { setLogSink } from '@coll/core';
import { direct } from '@coll/direct';
import { broadcast, type DataParallelOptions, dataParallel } from '@coll/jax-js';
import { MirroredStrategy, type ReplicaContext } from '@coll/strategy';
import { jit, numpy as np, tree, valueAndGrad } from '@jax-js/jax';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { both, resultsOf } from './fixtures/results-of.ts';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
const single = new MirroredStrategy({ devices: ['cpu:0'], crossDeviceOps: direct });
afterAll(() => Promise.all([strategy.close(), single.close()]));
afterEach(() => setLogSink());

/** What each of two replicas returns, or the error that it gets. */
const onBoth = <Result>(replica: (context: ReplicaContext, id: number) => Promise<Result>) =>
  resultsOf(strategy, replica);

type Params = { w: np.Array };

/** The mean over samples of w · x: its gradient is the mean of x. */
const loss = ({ w }: Params, x: np.Array) => np.matmul(x, w).mean();
const gradient = () => jit(valueAndGrad(loss));
const ones = (): Params => ({ w: np.ones([2]) });
/** Weights that are no power of two round. */
const rounded = (value: number) => Number(value.toFixed(5));
const rows = (...list: number[][]) => (list.length === 0 ? np.zeros([0, 2]) : np.array(list));

describe('a data-parallel function', () => {
  it('returns means over all samples, of unequal parts and of none, in one collective per step', async () => {
    const results = await onBoth(async (context, id) => {
      let calls = 0;
      const counted = new Proxy(context, {
        get: (target, name) => {
          if (name === 'allReduce') calls++;
          const value = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const step = dataParallel(counted, gradient());
      const seen: unknown[] = [];
      const parts = [
        [rows([1, 2], [3, 4]), rows([5, 6], [7, 8])],
        [rows([1, 2], [3, 4], [5, 6]), rows([7, 8])],
        [rows(), rows([1, 2])],
        [rows([1, 2], [1, 0]), rows([4, 4])],
      ];
      for (const part of parts) {
        calls = 0;
        const [value, { w }] = await step(ones(), part[id] as np.Array);
        seen.push([calls, rounded(value.js()), w.js().map(rounded)]);
      }
      return seen;
    });
    // In the first step, replicas also compare structures.
    const expected = [
      [2, 9, [4, 5]],
      [1, 9, [4, 5]],
      [1, 3, [1, 2]],
      [1, 4, [2, 2]],
    ]; // prettier-ignore
    expect(results).toEqual(both(expected));
  });

  it('takes the number of samples from the option, if the arguments do not tell', async () => {
    const scaled = jit(
      valueAndGrad((params: Params, x: np.Array, factors: np.Array) => loss(params, x).mul(factors.sum())),
    );
    const call = async (context: ReplicaContext, id: number, options?: DataParallelOptions<never>) => {
      const step = dataParallel(context, scaled, options as object);
      const x = id === 0 ? rows([1, 1], [1, 1], [1, 1]) : rows([5, 5]);
      const [, { w }] = await step(ones(), x, np.array([0.5, 0.25, 0.25, 1]));
      return w.js().map(rounded);
    };
    const unknown =
      /^ERR_COLL_VALUE dataParallel: the arrays after the first argument differ in their first axis: \d in argument 2, 4 in argument 3; pass the option samples/;
    expect(await onBoth((context, id) => call(context, id))).toEqual(both(expect.stringMatching(unknown)));
    const samples = (_: Params, x: np.Array) => x.shape[0] as number;
    expect(await onBoth((context, id) => call(context, id, { samples } as object))).toEqual(both([4, 4]));
    expect(await onBoth((context, id) => call(context, id, { samples: 8 }))).toEqual(both([6, 6]));
    const none = dataParallel.bind(undefined);
    expect(await onBoth((context) => none(context, jit(valueAndGrad((w: np.Array) => w.sum())))(np.ones([2])))).toEqual(
      both(expect.stringMatching(/no argument after the first one is an array .*; pass the option samples/)),
    );
  });

  it('returns the aux of the replica itself, or its mean', async () => {
    const withAux = jit(
      valueAndGrad(
        (params: Params, x: np.Array): [np.Array, { largest: np.Array; sums: np.Array }] => [
          loss(params, x.ref),
          { largest: x.ref.max(), sums: x.sum(0) },
        ],
        { hasAux: true },
      ),
    );
    const seen = (aux?: 'own' | 'mean') =>
      onBoth(async (context, id) => {
        const step = dataParallel(context, withAux, { aux });
        const found: unknown[] = [];
        for (const part of [id === 0 ? rows([1, 1], [1, 1], [1, 1]) : rows([5, 5]), id === 0 ? rows() : rows([2, 4])]) {
          const [[value, { largest, sums }], { w }] = await step(ones(), part);
          found.push([rounded(value.js()), w.js().map(rounded), rounded(largest.js()), sums.js().map(rounded)]);
        }
        return found;
      });
    expect(await seen()).toEqual([
      [
        [4, [2, 2], 1, [3, 3]],
        [6, [2, 4], 0, [0, 0]],
      ],
      [
        [4, [2, 2], 5, [5, 5]],
        [6, [2, 4], 4, [2, 4]],
      ],
    ]); // prettier-ignore
    expect(await seen('mean')).toEqual(
      both([
        [4, [2, 2], 2, [3.5, 3.5]],
        [6, [2, 4], 4, [2, 4]],
      ]),
    ); // prettier-ignore
  });

  it('consumes its arguments, and gives the caller the only reference of the results', async () => {
    const counts = await onBoth(async (context, id) => {
      const step = dataParallel(context, gradient());
      const params = ones();
      const found: number[] = [];
      for (const x of [rows([1, 2]), id === 0 ? rows() : rows([1, 2])]) {
        const [value, { w }] = await step(tree.ref(params), x.ref);
        found.push(params.w.refCount, x.refCount, value.refCount, w.refCount);
      }
      return found;
    });
    expect(counts).toEqual(both([1, 1, 1, 1, 1, 1, 1, 1]));
  });

  it('computes what the given function does with one replica, and reports each step', async () => {
    let steps = 0;
    const result = await single.run(async (context) => {
      const step = dataParallel(context, gradient(), { onAllReduce: () => steps++ });
      const [value, { w }] = await step(ones(), rows([1, 2], [3, 4]));
      return [value.js(), w.js()];
    });
    expect([result, steps]).toEqual([[5, [2, 3]], 1]);
  });
});

describe('replicas that are not equal get the same error', () => {
  it('for parameters that differ in the first step; broadcast makes them equal', async () => {
    const start = async (context: ReplicaContext, params: { layers: Params[] }) => {
      const f = jit(valueAndGrad(({ layers: [layer] }: { layers: Params[] }, x: np.Array) => loss(layer as Params, x)));
      await dataParallel(context, f)(params, rows([1, 2]));
      return 'went through';
    };
    const own = (id: number) => ({ layers: [{ w: np.array([id, 2]) }] });
    expect(await onBoth((context, id) => start(context, own(id)))).toEqual(
      both(
        expect.stringMatching(
          /^ERR_COLL_MISMATCH replicas start with different parameters: the parameter params.layers\[0\].w of replica 1 differs from that of the others in step 1; .*call params = await broadcast\(context, params\)/,
        ),
      ),
    );
    expect(await onBoth(async (context, id) => start(context, await broadcast(context, own(id))))).toEqual(
      both('went through'),
    );
  });

  it('for parameters that part later, as an error or one warning', async () => {
    const lines: string[] = [];
    setLogSink((level, message) => level === 'warn' && lines.push(message));
    const part = (onDifference: 'throw' | 'warn') =>
      onBoth(async (context, id) => {
        const step = dataParallel(context, gradient(), { onDifference });
        for (let k = 0; k < 4; k++) await step({ w: np.array([1, k < 2 ? 1 : id]) }, rows([1, 2]));
        return 'went through';
      });
    const message =
      /replicas have parted: the parameter params.w of replica 1 differs from that of the others in step 3; /;
    expect(await part('throw')).toEqual(both(expect.stringMatching(message)));
    expect(lines).toEqual([]);
    expect(await part('warn')).toEqual(both('went through'));
    expect(lines).toEqual([expect.stringMatching(message)]);
  });

  it('for gradients of different structures, also in a later step', async () => {
    const f = valueAndGrad((params: { [name: string]: np.Array }, x: np.Array) =>
      Object.values(params).reduce((sum, p) => sum.add(p.sum()), x.mean()),
    );
    const paramsOf = (names: string) => Object.fromEntries(names.split('').map((name) => [name, np.ones([2])]));
    const steps = (all: readonly (readonly [string, string])[]) =>
      onBoth(async (context, id) => {
        const step = dataParallel(context, f);
        const seen: string[] = [];
        for (const names of all)
          seen.push(Object.keys((await step(paramsOf(names[id] as string), rows([1, 2])))[1]).join(''));
        return seen;
      });
    const missing = (name: string) =>
      both(
        `ERR_COLL_MISMATCH dataParallel: replicas have different trees: gradients.${name} is float32 [2] on replica 0, missing on replica 1`,
      );
    expect(await steps([['ab', 'a']])).toEqual(missing('b'));
    expect(
      await steps([
        ['a', 'a'],
        ['ab', 'a'],
      ]),
    ).toEqual(missing('b')); // prettier-ignore
    expect(
      await steps([
        ['a', 'a'],
        ['ab', 'ab'],
        ['ab', 'ab'],
      ]),
    ).toEqual(both(['a', 'ab', 'ab'])); // prettier-ignore
  });

  it('for steps of different functions', async () => {
    const mixed = await onBoth(async (context, id) => {
      const steps = [dataParallel(context, gradient()), dataParallel(context, gradient())];
      for (const step of steps) await step(ones(), rows([1, 2]));
      await steps[id]?.(ones(), rows([1, 2]));
      return 'went through';
    });
    expect(mixed).toEqual(
      both(
        expect.stringMatching(/^ERR_COLL_MISMATCH replicas step different functions of dataParallel at the same time/),
      ),
    );
  });

  it('if one of them has no samples in the first step, or none has in a later one', async () => {
    const without = /^ERR_COLL_VALUE dataParallel: all replicas must have samples in the first step, and one of them/;
    const run = (parts: readonly (readonly [np.Array, np.Array])[]) =>
      onBoth(async (context, id) => {
        const step = dataParallel(context, gradient());
        for (const part of parts) await step(ones(), part[id] as np.Array);
        return 'went through';
      });
    expect(await run([[rows(), rows([1, 2])]])).toEqual(both(expect.stringMatching(without)));
    const later = await run([
      [rows([1, 2]), rows([1, 2])],
      [rows(), rows()],
    ]); // prettier-ignore
    expect(later).toEqual(both(expect.stringMatching(without)));
  });
});

it('the first NaN or infinity is logged once, with its path and replica', async () => {
  const lines: string[] = [];
  setLogSink((level, message) => level === 'warn' && lines.push(message));
  await onBoth(async (context, id) => {
    const step = dataParallel(context, gradient());
    for (let k = 0; k < 4; k++) await step(ones(), rows([1, k > 0 && id === 1 ? Number.POSITIVE_INFINITY : 2]));
  });
  expect(lines).toEqual([
    expect.stringMatching(
      /^NaN or infinity in the results of replica 1 in step 2, first in loss; the mean of all replicas/,
    ),
  ]);
});

it('calls that make no sense are refused', async () => {
  const refused = async (call: (context: ReplicaContext) => Promise<unknown>) => (await onBoth(call))[0];
  const step = (context: ReplicaContext, f: unknown, options?: object) =>
    (dataParallel as (...args: unknown[]) => (...args: unknown[]) => Promise<unknown>)(context, f, options);
  expect(await refused((context) => step(context, gradient())(ones(), rows([1, 2])).then(() => 'went through'))).toBe(
    'went through',
  );
  const twice = await refused(async (context) => {
    const f = step(context, gradient());
    const [first, second] = await Promise.allSettled([f(ones(), rows([1, 2])), f(ones(), rows([1, 2]))]);
    return [first?.status, String((second as PromiseRejectedResult).reason)];
  });
  expect(twice).toEqual([
    'fulfilled',
    expect.stringMatching(/a step of this replica is still under way; await it before/),
  ]);
  const cases: [unknown, object | undefined, RegExp][] = [
    [
      jit(loss),
      undefined,
      /fn must return \[loss, gradients\] or .* as jit\(valueAndGrad\(loss\)\) does, got an object/,
    ],
    ['loss', undefined, /fn must be jit\(valueAndGrad\(loss\)\), got "loss"/],
    [gradient(), { sample: 4 }, /unknown option "sample"; did you mean samples\?/],
    [gradient(), { samples: 'all' }, /samples must be a number or a function, got "all"/],
    [gradient(), { samples: () => -1 }, /samples must be a number from 0, or a function that returns one, got -1/],
    [gradient(), { aux: 'sum' }, /aux must be 'own' or 'mean', got "sum"/],
    [gradient(), { onDifference: 'log' }, /onDifference must be 'throw' or 'warn', got "log"/],
    [
      () => [np.ones([]), { w: np.ones([2], { dtype: np.int32 }) }],
      undefined,
      /gradients.w is int32, which has no mean; use astype\(np.float32\) first/,
    ],
  ];
  for (const [f, options, message] of cases)
    expect(await refused(async (context) => step(context, f, options)(ones(), rows([1, 2])))).toMatch(message);
});
