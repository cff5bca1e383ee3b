import assert from 'node:assert/strict';
import { deserialize, serialize } from 'node:v8';
import type { Collective } from '@coll/core';
import { inputBlocks, knownOptions, messageOf, outputBlocks, requireKnownOptions } from '@coll/core/internal';
import { nameOf } from '@coll/core/plugin';
import {
  type Algorithm,
  chunkRange,
  cost,
  goalOf,
  hasBlocks,
  problemOf,
  representativeCost,
  type Schedule,
  scheduleOf,
} from '@coll/core/schedule';

/** A function that declares a test, such as `test` of vitest or of node:test. */
export type DeclareTest = (name: string, run: () => void) => unknown;

/** A function that declares a group of tests, such as `describe` of vitest or of node:test. */
export type DeclareGroup = (name: string, declare: () => void) => unknown;

/** The algorithm under test and the test framework. */
export interface AlgorithmSuiteOptions {
  /** The function of the test framework that declares a test, such as `test` of vitest. */
  readonly test: DeclareTest;
  /**
   * The function of the test framework that declares a group of tests, such as `describe` of
   * vitest. Default: tests are declared without a group.
   */
  readonly describe?: DeclareGroup;
  /** The algorithm under test. */
  readonly algorithm: Algorithm;
  /**
   * The numbers of ranks to test; the algorithm must support all-reduce for each. Default: 1 to 9,
   * 16 and 33.
   */
  readonly ranks?: readonly number[];
}

const algorithmSuiteOptions = knownOptions<AlgorithmSuiteOptions>('algorithmSuite', {
  test: true,
  describe: true,
  algorithm: true,
  ranks: true,
});

/**
 * Declares the tests that every algorithm must pass.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { test } from 'node:test';
 * import { ringAlgorithm } from '@coll/ring';
 * import { algorithmSuite } from '@coll/testing';
 *
 * algorithmSuite({ test, algorithm: ringAlgorithm(), ranks: [1, 2, 3] });
 * ```
 */
export function algorithmSuite(options: AlgorithmSuiteOptions): void {
  requireKnownOptions(options, algorithmSuiteOptions);
  const { test, describe, algorithm, ranks = usualRanks } = options;
  const declare = () => {
    for (const size of ranks) {
      const among = size === 1 ? 'with one rank' : `among ${size} ranks`;
      for (const [name, check] of Object.entries(checks)) test(`${name} ${among}`, () => check(algorithm, size));
    }
  };
  if (describe) describe(`algorithm ${algorithm.name}`, declare);
  else declare();
}

const usualRanks: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33];

const checks = {
  'supports all-reduce': carriesOutAllReduce,
  'plans every collective that it does not refuse': plansWhatItDoesNotRefuse,
  'plans schedules that symbolic execution proves correct': hasProvenSchedules,
  'plans the same schedule for the same request': plansTheSame,
  'streams the same transfers that it plans, if it can stream': streamsWhatItPlans,
  'has a finite estimated cost': costsFiniteTime,
  'has representatives that cost what all its transfers cost, if it has any': hasEqualRepresentatives,
  'returns the results of plain arithmetic': agreesWithArithmetic,
};

function carriesOutAllReduce(algorithm: Algorithm, ranks: number): void {
  const refused = algorithm.refuses?.({ kind: 'all-reduce', op: 'sum' }, ranks);
  assert.ok(refused === undefined, `${algorithm.name} refuses all-reduce among ${ranks} ranks: ${refused}`);
}

function plansWhatItDoesNotRefuse(algorithm: Algorithm, ranks: number): void {
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    const title = titleOf(algorithm, collective, ranks);
    assert.ok(schedule.ranks === ranks, `${title} is a schedule for ${schedule.ranks} ranks`);
    assert.ok(ranks > 1 || schedule.rounds.length === 0, `${title} has rounds, but a single rank needs none`);
  }
}

function hasProvenSchedules(algorithm: Algorithm, ranks: number): void {
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    const problem = problemOf(schedule, collective);
    assert.ok(problem === undefined, `${titleOf(algorithm, collective, ranks)} is wrong: ${problem}`);
  }
}

function plansTheSame(algorithm: Algorithm, ranks: number): void {
  const plans = plansOf(algorithm, ranks);
  const before = plans.map(({ schedule }) => serialize(schedule));
  const again = plansOf(algorithm, ranks);
  for (const [index, { collective, schedule }] of plans.entries()) {
    const title = titleOf(algorithm, collective, ranks);
    const first = before[index] as Buffer;
    assertSerializes(again[index]?.schedule, first, `${title} differs when it is planned again`);
    assertSerializes(schedule, first, `${title} changes when other collectives are planned`);
  }
}

/** Fails unless a value equals the one that was serialized. Comparing bytes takes a fraction of the time. */
function assertSerializes(value: unknown, serialized: Buffer, message: string): void {
  if (!serialize(value).equals(serialized)) assert.deepEqual(value, deserialize(serialized), message);
}

function streamsWhatItPlans(algorithm: Algorithm, ranks: number): void {
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    const stream = algorithm.stream?.(collective, ranks);
    if (!stream) continue;
    const [streamed, planned] = [stream, schedule].map((each) => scheduleOf(each.ranks, each.chunks, each.rounds));
    assertSerializes(
      streamed,
      serialize(planned),
      `${titleOf(algorithm, collective, ranks)} streams other transfers than it plans`,
    );
  }
}

function costsFiniteTime(algorithm: Algorithm, ranks: number): void {
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    const machine = { kind: collective.kind, bytes: 1000 * ranks, alpha: 1e-6, beta: 1e-9, gamma: 1e-9 };
    const { seconds, bytesPerRank } = cost(schedule, machine);
    const price = `${seconds} seconds for ${bytesPerRank} bytes per rank`;
    assert.ok(Number.isFinite(seconds + bytesPerRank), `${titleOf(algorithm, collective, ranks)} takes ${price}`);
  }
}

function hasEqualRepresentatives(algorithm: Algorithm, ranks: number): void {
  const workerSizes = Array.from({ length: ranks }, (_, index) => index + 1).filter((size) => ranks % size === 0);
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    for (const ranksPerWorker of workerSizes) {
      for (const block of [0, 1, 7, 1000]) {
        const few = algorithm.representatives?.(collective, ranks, ranksPerWorker);
        if (!few) continue;
        const workers = { ranksPerWorker, alpha: 3e-7, beta: 7e-11, overhead: 1e-7 };
        const across = { alpha: 1e-6, beta: 1e-9, overhead: 2e-7 };
        const machine = {
          kind: collective.kind,
          bytes: block * ranks + (hasBlocks(collective.kind) ? 0 : 5),
          gamma: 3e-10,
          ...across,
          workers,
        };
        const { rounds, seconds } = cost(schedule, machine);
        assert.deepEqual(
          representativeCost(few, machine),
          { rounds, seconds },
          `${titleOf(algorithm, collective, ranks)}: with ${ranksPerWorker} ranks per worker and ${machine.bytes} bytes, representatives cost something else`,
        );
      }
    }
  }
}

function agreesWithArithmetic(algorithm: Algorithm, ranks: number): void {
  const plans = plansOf(algorithm, ranks);
  for (const block of [0, 1, ranks + 2]) {
    const [short, long] = [inputsOf(ranks, block), inputsOf(ranks, block * ranks)];
    for (const { collective, schedule } of plans) {
      const inputs = inputBlocks(collective, ranks) === 1 ? short : long;
      const length = hasBlocks(collective.kind) ? block * ranks : block;
      const title = `${titleOf(algorithm, collective, ranks)} on ${length} elements`;
      const outputs = play(schedule, collective, block, inputs);
      for (const [rank, elements] of expectedOutputs(collective, inputs, block).entries()) {
        if (elements && !isSame(outputs[rank], elements))
          assert.deepEqual(outputs[rank], elements, `${title} returns a wrong result on rank ${rank}`);
      }
    }
  }
}

function isSame(output: Float64Array | undefined, expected: Float64Array): boolean {
  return output?.length === expected.length && expected.every((element, index) => output[index] === element);
}

interface Plan {
  readonly collective: Collective;
  readonly schedule: Schedule;
}

/**
 * The schedules of all collectives that the algorithm supports. Fails if planning one of them
 * throws.
 */
function plansOf(algorithm: Algorithm, ranks: number): Plan[] {
  const planned = collectivesOf(algorithm, ranks).filter(
    (collective) => algorithm.refuses?.(collective, ranks) === undefined,
  );
  return planned.map((collective) => {
    try {
      const schedule = algorithm.plan(collective, ranks);
      assert.ok(Array.isArray(schedule?.rounds), 'its plan has no rounds');
      return { collective, schedule };
    } catch (cause) {
      const message = `${titleOf(algorithm, collective, ranks)} is neither planned nor refused: ${messageOf(cause)}`;
      throw new assert.AssertionError({ message, actual: cause, operator: 'plan' });
    }
  });
}

/** Every kind of collective, with every root and every variant, as frozen objects. */
function collectivesOf(algorithm: Algorithm, ranks: number): readonly Collective[] {
  const variants = Array.from({ length: algorithm.variants?.(ranks) ?? 1 }, (_, variant) => variant);
  const roots = Array.from({ length: ranks }, (_, rank) => rank);
  const collectives: Collective[] = [
    ...variants.map((variant): Collective => ({ kind: 'all-reduce', op: 'sum', variant })),
    { kind: 'all-gather' },
    { kind: 'reduce-scatter', op: 'sum' },
    { kind: 'all-to-all' },
    ...roots.map((root): Collective => ({ kind: 'reduce', op: 'sum', root })),
    ...(['broadcast', 'gather', 'scatter'] as const).flatMap((kind) =>
      roots.map((root): Collective => ({ kind, root })),
    ),
  ];
  return collectives.map((collective) => Object.freeze(collective));
}

function titleOf(algorithm: Algorithm, collective: Collective, ranks: number): string {
  return `${algorithm.name}: ${nameOf(collective)} among ${ranks} ranks`;
}

// Whole numbers, whose sums are exact in any order, and different for every rank and element.
function contributionOf(rank: number, element: number): number {
  return (rank + 1) * 1000 + element * 7;
}

/** The inputs of all ranks, of `length` elements each. */
function inputsOf(ranks: number, length: number): readonly Float64Array[] {
  return Array.from({ length: ranks }, (_, rank) =>
    Float64Array.from({ length }, (_, element) => contributionOf(rank, element)),
  );
}

/**
 * Executes a schedule and returns each rank's output, of `count` elements per block. An element that
 * was not received is NaN.
 */
function play(
  schedule: Schedule,
  collective: Collective,
  count: number,
  inputs: readonly Float64Array[],
): readonly Float64Array[] {
  const { ranks, chunks, rounds } = schedule;
  const { kind } = collective;
  const length = hasBlocks(kind) ? count * ranks : count;
  const goal = goalOf(collective, schedule);
  const held: (Float64Array | undefined)[][] = inputs.map((input, rank) =>
    Array.from({ length: chunks }, (_, chunk) => {
      if (!goal.contributes(rank, chunk)) return undefined;
      const { begin, end } = chunkRange(schedule, kind, length, chunk, 'input');
      return input.subarray(begin, end);
    }),
  );
  for (const round of rounds) {
    const sent = round.map(({ from, chunk }) => held[from]?.[chunk] ?? none);
    for (const [index, { to, chunk, reduce }] of round.entries()) {
      const values = sent[index] as Float64Array;
      const chunksOf = held[to] as (Float64Array | undefined)[];
      chunksOf[chunk] = reduce ? sumOf([values, chunksOf[chunk] ?? none]) : values;
    }
  }
  return held.map((own, rank) => {
    const output = new Float64Array(outputBlocks(collective, ranks) * count).fill(Number.NaN);
    for (const [chunk, values = none] of own.entries()) {
      if (!goal.receives(rank, chunk)) continue;
      const { begin } = chunkRange(schedule, kind, length, chunk, 'output');
      output.set(values, begin);
    }
    return output;
  });
}

const none = new Float64Array(0);

function sumOf([first = none, ...others]: readonly Float64Array[]): Float64Array {
  const sum = Float64Array.from(first);
  for (const values of others) {
    for (let index = 0; index < sum.length; index++) sum[index] = (sum[index] as number) + (values[index] as number);
  }
  return sum;
}

/**
 * The expected output of each rank, computed without a schedule; undefined for ranks that receive
 * nothing.
 */
function expectedOutputs(
  collective: Collective,
  inputs: readonly Float64Array[],
  count: number,
): readonly (Float64Array | undefined)[] {
  const everyone = [...inputs.keys()];
  const blockOf = (input: Float64Array | undefined, rank: number) =>
    input?.subarray(rank * count, (rank + 1) * count) ?? none;
  const joined = (parts: readonly Float64Array[]) => Float64Array.from(parts.flatMap((part) => [...part]));
  const sum = 'op' in collective ? sumOf(inputs) : none;
  switch (collective.kind) {
    case 'all-reduce':
      return everyone.map(() => sum);
    case 'reduce':
      return everyone.map((rank) => (rank === collective.root ? sum : undefined));
    case 'reduce-scatter':
      return everyone.map((rank) => blockOf(sum, rank));
    case 'broadcast':
      return everyone.map(() => inputs[collective.root]);
    case 'all-gather':
      return everyone.map(() => joined(inputs));
    case 'gather':
      return everyone.map((rank) => (rank === collective.root ? joined(inputs) : undefined));
    case 'scatter':
      return everyone.map((rank) => blockOf(inputs[collective.root], rank));
    case 'all-to-all':
      return everyone.map((rank) => joined(inputs.map((input) => blockOf(input, rank))));
  }
}
