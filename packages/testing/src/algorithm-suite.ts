import assert from 'node:assert/strict';
import type { Collective } from '@coll/core';
import { knownOptions, messageOf, requireKnownOptions } from '@coll/core/internal';
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
  const before = structuredClone(plans);
  const again = plansOf(algorithm, ranks);
  for (const [index, { collective, schedule }] of before.entries()) {
    const title = titleOf(algorithm, collective, ranks);
    assert.deepEqual(again[index]?.schedule, schedule, `${title} differs when it is planned again`);
    assert.deepEqual(plans[index]?.schedule, schedule, `${title} changes when other collectives are planned`);
  }
}

function streamsWhatItPlans(algorithm: Algorithm, ranks: number): void {
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    const stream = algorithm.stream?.(collective, ranks);
    if (!stream) continue;
    const [streamed, planned] = [stream, schedule].map((each) => scheduleOf(each.ranks, each.chunks, each.rounds));
    assert.deepEqual(
      streamed,
      planned,
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
  for (const { collective, schedule } of plansOf(algorithm, ranks)) {
    for (const block of [0, 1, ranks + 2]) {
      const length = hasBlocks(collective.kind) ? block * ranks : block;
      const title = `${titleOf(algorithm, collective, ranks)} on ${length} elements`;
      const outputs = play(schedule, collective, block);
      for (const [rank, elements] of expectedOutputs(collective, ranks, block).entries()) {
        if (elements) assert.deepEqual(outputs[rank], elements, `${title} returns a wrong result on rank ${rank}`);
      }
    }
  }
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

/**
 * A rank's input in a collective. `count` is the number of elements per rank (`n` in `Collective`).
 */
function inputOf({ kind }: Collective, ranks: number, rank: number, count: number): number[] {
  const isLong = kind === 'reduce-scatter' || kind === 'scatter' || kind === 'all-to-all';
  return Array.from({ length: isLong ? ranks * count : count }, (_, element) => contributionOf(rank, element));
}

/**
 * Executes a schedule and returns each rank's output. An element that was not received is
 * undefined.
 */
function play(schedule: Schedule, collective: Collective, count: number): (number | undefined)[][] {
  const { ranks, chunks, rounds } = schedule;
  const { kind } = collective;
  const length = hasBlocks(kind) ? ranks * count : count;
  const goal = goalOf(collective, schedule);
  const held = Array.from({ length: ranks }, (_, rank) => {
    const input = inputOf(collective, ranks, rank, count);
    return Array.from({ length: chunks }, (_, chunk) => {
      const { begin, end } = chunkRange(schedule, kind, length, chunk, 'input');
      return goal.contributes(rank, chunk) ? input.slice(begin, end) : undefined;
    });
  });
  for (const round of rounds) {
    const arrivals = round.map((transfer) => ({ ...transfer, values: held[transfer.from]?.[transfer.chunk] ?? [] }));
    for (const { to, chunk, values, reduce } of arrivals) {
      const chunksOf = held[to] as (number[] | undefined)[];
      const own = chunksOf[chunk];
      chunksOf[chunk] = reduce ? values.map((value, index) => value + (own?.[index] ?? Number.NaN)) : values;
    }
  }
  return held.map((own, rank) => {
    const output: (number | undefined)[] = [];
    for (const [chunk, values] of own.entries()) {
      if (!goal.receives(rank, chunk)) continue;
      const { begin } = chunkRange(schedule, kind, length, chunk, 'output');
      for (const [index, value] of (values ?? []).entries()) output[begin + index] = value;
    }
    return output;
  });
}

/**
 * The expected output of each rank, computed without a schedule; undefined for ranks that receive
 * nothing.
 */
function expectedOutputs(collective: Collective, ranks: number, count: number): (number[] | undefined)[] {
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  const inputs = everyone.map((rank) => inputOf(collective, ranks, rank, count));
  const blockOf = (input: number[] | undefined, rank: number) => input?.slice(rank * count, (rank + 1) * count) ?? [];
  const sum = inputs.reduce((sums, input) => sums.map((value, index) => value + (input[index] as number)));
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
      return everyone.map(() => inputs.flat());
    case 'gather':
      return everyone.map((rank) => (rank === collective.root ? inputs.flat() : undefined));
    case 'scatter':
      return everyone.map((rank) => blockOf(inputs[collective.root], rank));
    case 'all-to-all':
      return everyone.map((rank) => inputs.flatMap((input) => blockOf(input, rank)));
  }
}
