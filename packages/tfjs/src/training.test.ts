import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Exercise, ResultOf } from '../test/fixtures/replicas.ts';

const fixtures = new URL('../test/fixtures/replicas.ts', import.meta.url);

/** For each exercise, the results of all replicas. */
async function run(numReplicas: number, backend: string, exercises: readonly Exercise[]): Promise<unknown[][]> {
  const devices = Array.from({ length: numReplicas }, (_, index) => `cpu:${index}`);
  await using strategy = new MirroredStrategy({ devices, crossDeviceOps: direct });
  const results = await strategy.run(fixtures, { args: [backend, exercises] });
  const byReplica = strategy.experimentalLocalResults(results) as unknown[][];
  return exercises.map((_, index) => byReplica.map((result) => result[index]));
}

/**
 * After the first step, which creates slots and masters, the number of tensors must stay the same.
 */
function expectNoLeak(tensors: readonly number[]): void {
  expect(new Set(tensors.slice(1)).size).toBe(1);
}

function expectClose(actual: readonly number[], expected: readonly number[], relative: number): void {
  expect(actual.length).toBe(expected.length);
  const worst = Math.max(
    ...actual.map(
      (value, index) => Math.abs(value - (expected[index] as number)) / Math.abs(expected[index] as number),
    ),
  );
  expect(worst).toBeLessThan(relative);
}

const exercises = {
  'minimize by sgd': ['minimize', { optimizer: 'sgd' }],
  'minimize by adam': ['minimize', { optimizer: 'adam' }],
  fit: ['fit', { optimizer: 'momentum' }],
  aliased: ['aliased', {}],
  'missing once': ['missing', { steps: 1 }],
  'missing, with slots': ['missing', { optimizer: 'adam', steps: 4 }],
  loop: ['loop', { optimizer: 'adam', steps: 6 }],
  broadcast: ['broadcast', {}],
  mismatched: ['mismatched', {}],
} as const satisfies Record<string, Exercise>;

type Exercises = typeof exercises;
const alone = ['minimize by sgd', 'minimize by adam', 'fit'] as const;

describe.each(['cpu', 'wasm'])('replicas in threads on the %s backend', (backend) => {
  let single: unknown[][];
  let both: unknown[][];

  beforeAll(async () => {
    single = await run(
      1,
      backend,
      alone.map((name) => exercises[name]),
    );
    both = await run(2, backend, Object.values(exercises));
  });

  const bothDid = <Name extends keyof Exercises>(name: Name) =>
    both[Object.keys(exercises).indexOf(name)] as [ResultOf<Exercises[Name][0]>, ResultOf<Exercises[Name][0]>];
  const oneDid = <Name extends (typeof alone)[number]>(name: Name) =>
    single[alone.indexOf(name)]?.[0] as ResultOf<Exercises[Name][0]>;

  it.each(['minimize by sgd', 'minimize by adam'] as const)('%s like a single replica on the whole batch', (name) => {
    const [first, second] = bothDid(name);
    const losses = first.losses.map((loss, step) => (loss + (second.losses[step] as number)) / 2);
    expectClose(losses, oneDid(name).losses, 1e-5);
    expect(losses.at(-1)).toBeLessThan(losses[0] as number);
    expect(second.weights).toEqual(first.weights);
    expectNoLeak(first.tensors);
  });

  it('train through model.fit like a single replica', () => {
    const [first, second] = bothDid('fit');
    const alone = oneDid('fit');
    expect(second.weights).toEqual(first.weights);
    expect(first.calls).toBe(6);
    const differences = first.weights.map((weight, index) => Math.abs(weight - (alone.weights[index] as number)));
    expect(Math.max(...differences)).toBeLessThan(1e-5);
  });

  it('reduce gradients that share memory separately, even if they share it on one replica only', () => {
    const results = bothDid('aliased');
    expect(results.map(({ sharesMemory }) => sharesMemory)).toEqual([true, false]);
    for (const { a, b } of results) {
      expect(Array.from(a)).toEqual([1 - 50.5, 2 - 101, 3 - 151.5]);
      expect(Array.from(b)).toEqual([4 - 55, 5 - 110, 6 - 165]);
    }
  });

  it('treat gradients missing on one replica as zero, and keep variables without any gradient unchanged', () => {
    const step = Math.fround(1 - Math.fround(0.1));
    for (const { values } of bothDid('missing once')) {
      expect(values.map((value) => Array.from(value))).toEqual([
        [step, step],
        [step, step],
        [1, 1],
      ]);
    }
  });

  it('keep their optimizer states equal if gradients are missing', () => {
    const [first, second] = bothDid('missing, with slots');
    expect(second.values).toEqual(first.values);
    expect(first.values.map((value) => value[0] === 1)).toEqual([false, false, true]);
    expectNoLeak(first.tensors);
  });

  it('learn the same with reduceGradients in a loop of their own as with the distributed optimizer', () => {
    const [first, second] = bothDid('loop');
    expect(second.weights).toEqual(first.weights);
    expect(first.weights).toEqual(bothDid('minimize by adam')[0].weights.slice(0, 6));
    expectNoLeak(first.tensors);
  });

  it('broadcast weights of every dtype from one replica to all', () => {
    const results = bothDid('broadcast');
    for (const { values } of results)
      expect(values).toEqual([
        [1, 1.5],
        [1, 1.5],
        [1, -1],
        [1, 1],
        [0, 1],
      ]);
    expect(results.map(({ source }) => source)).toEqual([
      [0, 0.5],
      [1, 1.5],
    ]);
  });

  it('report the same difference between their models on all replicas', () => {
    const [first, second] = bothDid('mismatched');
    expect(second?.message).toBe(first?.message);
    expect(first).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_MISMATCH' });
    expect(first?.message).toMatch(
      /^replicas train different models: variable 0 is "dense_Dense\d+\/kernel", float32 \[12,16\], on replica 0, "dense_Dense\d+\/kernel", float32 \[12,17\], on replica 1$/,
    );
  });
});
