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
  'two trainings': ['twoTrainings', {}],
  frozen: ['frozen', {}],
  parted: ['parted', {}],
  'not finite': ['notFinite', {}],
  'empty parts': ['emptyParts', {}],
  strays: ['strays', {}],
  'own arrays': ['ownArrays', {}],
} as const satisfies Record<string, Exercise>;

type Exercises = typeof exercises;
const alone = ['minimize by sgd', 'minimize by adam', 'fit', 'empty parts'] as const;

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

  it('refuse steps of two trainings that run at once, before any variable changes', () => {
    for (const { atFirst, later, areUnchanged } of bothDid('two trainings')) {
      for (const error of [...atFirst, ...later]) {
        expect(error).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_MISMATCH', rank: 1 });
        expect(error?.message).toMatch(/; train one model after the other: await one model\.fit before the next/);
      }
      expect(atFirst[0]?.message).toMatch(/optimizer \d+ on replica 0, optimizer \d+ on replica 1; /);
      expect(later[0]?.message).toMatch(
        /^replicas make steps of different trainings at the same time: replica 0 steps "dense_.*\/kernel" and 3 other variables, replica 1 steps /,
      );
      expect(areUnchanged).toBe(true);
    }
  });

  it('get the frozen weights and moving statistics of replica 0 in the first step', () => {
    const [first, second] = bothDid('frozen');
    const isStatistic = first.names.map((name) => name.includes('moving'));
    expect(isStatistic.filter((is) => is).length).toBe(2);
    for (const [index, is] of isStatistic.entries()) {
      if (is) expect(second.trained[index]).not.toEqual(first.trained[index]);
      else expect(second.trained[index]).toEqual(first.trained[index]);
      if (!is) expect(first.averaged[index]).toEqual(first.trained[index]);
    }
    expect(second.averaged).toEqual(first.averaged);
    const mean = (index: number) =>
      first.trained[index]?.map((value, at) => (value + (second.trained[index]?.[at] as number)) / 2) as number[];
    for (const [index, is] of isStatistic.entries())
      if (is) expectClose(first.averaged[index] as number[], mean(index), 1e-6);
    expect([first.keptOwn, second.keptOwn]).toEqual([true, true]);
  });

  it.each([
    [
      'settings',
      3,
      /^replicas have different optimizers in step 3: replica 1 has Adam {"learningRate":0.5,.*}, the others have Adam {"learningRate":0.1,/,
    ],
    [
      'loads',
      3,
      /^replicas have different optimizers in step 3: replica 1 has Adam .*} \(setWeights calls: 1\), the others have Adam [^;]*}; /,
    ],
    [
      'state',
      3,
      /^replicas have parted: the state of the optimizer, "weights\/m" of replica 1 differs from that of the others in step 3; load it/,
    ],
    [
      'options',
      1,
      /^replicas have different optimizers in step 1: replica 1 has Adam {.*,"clipByGlobalNorm":1}, the others have Adam /,
    ],
    ['class', 1, /^replicas have different optimizers in step 1: replica 1 has Momentum .*, the others have Adam /],
    [
      'variable',
      3,
      /^replicas have parted: the variable "weights" of replica 1 differs from that of the others in step 3; change weights/,
    ],
  ] as const)('end with an error that names replica 1 if its %s differs', (change, step, message) => {
    for (const { [change]: done } of bothDid('parted')) {
      expect(done.result).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_MISMATCH', rank: 1 });
      expect(done.result?.message).toMatch(message);
      // The step that found the difference has not changed the variable.
      expect(done.values.length).toBe(step + 1);
      expect(done.values.at(-1)).toEqual(done.values.at(-2));
    }
  });

  it('end with an error if one replica has restored the state of the optimizer', () => {
    for (const { restored } of bothDid('parted')) {
      expect(restored.result).toMatchObject({ code: 'ERR_COLL_MISMATCH', rank: 1 });
      expect(restored.result?.message).toMatch(
        /^replicas have parted: the state of the optimizer, ".*" of replica 1 differs .* in step 1; load it on all replicas/,
      );
    }
  });

  it('log one line on replica 0 instead of an error if they should only warn', () => {
    const [first, second] = bothDid('parted');
    for (const change of ['settingsWarned', 'variableWarned'] as const) {
      const lines = first[change].lines.split('\n');
      // Other settings lead to other variables.
      expect(lines.length).toBe(change === 'settingsWarned' ? 2 : 1);
      for (const line of lines) expect(line).toMatch(/^warn: replicas have .* replica 1 /);
      expect(second[change].lines).toBe('');
      expect([first, second].map((replica) => [replica[change].result, replica[change].values.length])).toEqual([
        [undefined, 4],
        [undefined, 4],
      ]);
    }
  });

  it('name the first replica and step with a gradient that is not finite, once', () => {
    const [first, second] = bothDid('not finite');
    expect(first.lines).toMatch(
      /^warn: NaN or infinity in the gradients of replica 1 in step 3, first in that of "of 40000"; .*$/,
    );
    expect(second.lines).toBe('');
  });

  it('weight gradients by samples, so that unequal and empty parts train like the whole batch', () => {
    const [first, second] = bothDid('empty parts');
    const alone = oneDid('empty parts');
    for (const weights of ['fitted', 'minimized', 'unsaid'] as const) {
      expect(second[weights]).toEqual(first[weights]);
      const differences = first[weights].map((weight, index) => Math.abs(weight - (alone[weights][index] as number)));
      expect(Math.max(...differences)).toBeLessThan(1e-6);
    }
    for (const { normalized } of [first, second]) expect(normalized.every(Number.isFinite)).toBe(true);
    expect(second.losses[1]).toBe(0);
    expect(second.losses[0]).toBeGreaterThan(0);
    expect(second.history.every(Number.isFinite)).toBe(true);
  });

  it('train only variables that the loss uses, without a list of variables', () => {
    const [first, second] = bothDid('strays');
    expect([first.unused, second.unused]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect(second.values).toEqual(first.values);
    // The passes on the weights of the replica itself are repeated on those of replica 0.
    expect(second.seen[0]).toEqual([2, 3]);
    expect(second.seen.slice(1, 3)).toEqual(first.seen.slice(1, 3));
    expect(second.seen[3]).toEqual([6, 7]);
    expect(second.seen.slice(4)).toEqual(first.seen.slice(4));
    expect(first.seen.length).toBe(6);
  });

  it('do not write into arrays and tensors of the program', () => {
    const results = bothDid('own arrays');
    expect(results.map(({ array, gradient }) => [array, gradient])).toEqual([
      [
        [0, 0],
        [0, 0],
      ],
      [
        [1, 1],
        [1, 1],
      ],
    ]);
    for (const { values } of results) expectClose(values, [-0.1, -0.1], 1e-6);
  });
});
