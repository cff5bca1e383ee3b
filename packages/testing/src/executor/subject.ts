import assert from 'node:assert/strict';
import {
  type Collective,
  type CollectiveKind,
  type Communicator,
  type DType,
  type Tensor,
  type TypedArray,
  zeros,
} from '@coll/core';
import { nameOf, outputDType, outputLength } from '@coll/core/plugin';
import type { Schedule } from '@coll/core/schedule';
import { type Call, type CallOptions, type OpenGroup, partOf, type TestGroup } from '../group.js';
import type { Flavour } from '../oracle/contributions.js';
import { expectedOutputs } from '../oracle/expected-outputs.js';
import type { Plain } from '../oracle/plain-arithmetic.js';
import type { SuiteAlgorithm } from '../suite-algorithm.js';
import { type Expect, PreparedTrial, type Trial } from './trial.js';

export interface SubjectOptions {
  readonly open: OpenGroup;
  readonly algorithm: SuiteAlgorithm | undefined;
  readonly size: number;
  readonly kinds: readonly CollectiveKind[];
}

/** Whether a suite tests a group of this size with few cases and short buffers. */
export const hasManyRanks = (size: number): boolean => size > 8;

/** Changes how a member makes a call, such as its mode, but not its collective or data. */
export type Arrange = (call: Call, member: number, index: number) => Call;

/**
 * The subject of the cases of an executor suite: groups of one size that execute one algorithm.
 * Most cases share one group.
 */
export class Subject {
  readonly size: number;
  readonly algorithm: SuiteAlgorithm | undefined;
  readonly #open: OpenGroup;
  readonly #kinds: readonly CollectiveKind[];
  readonly #refusals = new Map<string, Promise<string | undefined>>();
  readonly #schedules = new Map<string, Schedule>();
  #group: Promise<TestGroup> | undefined;

  constructor({ open, algorithm, size, kinds }: SubjectOptions) {
    this.#open = open;
    this.algorithm = algorithm;
    this.size = size;
    this.#kinds = kinds;
  }

  /** Returns the group that most cases share, and opens it if necessary. */
  group(): Promise<TestGroup> {
    this.#group ??= this.another();
    return this.#group;
  }

  /** Opens a group for a single case, which may break it. */
  async another(): Promise<TestGroup> {
    const group = await this.#open(this.algorithm, this.size);
    assert.equal(group.size, this.size, `the group has ${group.size} ranks`);
    return group;
  }

  /** Closes the group that most cases share, so that the next case opens a new one. */
  async renew(): Promise<void> {
    const group = this.#group;
    this.#group = undefined;
    await (await group?.catch(() => undefined))?.close();
  }

  /** Returns the given collectives whose kinds the suite tests, without the others. */
  among(collectives: readonly Collective[]): readonly Collective[] {
    return collectives.filter(({ kind }) => this.#kinds.includes(kind));
  }

  /** Whether the group has so many ranks that cases must be few, with short buffers. */
  get hasManyRanks(): boolean {
    return hasManyRanks(this.size);
  }

  /**
   * Runs a check of members that wait for each other, on a new group for each way to call. With
   * many ranks there is one way, which blocks if members can block.
   */
  async onNewGroups(check: (group: TestGroup, mode: NonNullable<CallOptions['mode']>) => Promise<void>): Promise<void> {
    const { canBlock } = await this.group();
    const modes = canBlock ? (['run', 'runSync'] as const) : (['run'] as const);
    for (const mode of this.hasManyRanks ? modes.slice(-1) : modes) {
      await using group = await this.another();
      if (group.members.length < 2) return;
      await check(group, mode);
    }
  }

  /** The roots to test: the first rank, one in the middle and the last; with many ranks only the last. */
  roots(): number[] {
    return this.hasManyRanks ? [this.size - 1] : [...new Set([0, Math.floor(this.size / 2), this.size - 1])];
  }

  /**
   * Starts all trials on the shared group without waiting for their results, every third one with
   * `runSync` if members can block. Then verifies each trial. If the algorithm is unknown, uses
   * only inputs whose sums are exact in any order.
   */
  async check(
    trials: readonly Trial[],
    arrange: Arrange = (call) => call,
    expect: Expect = this.#expect,
  ): Promise<void> {
    const group = await this.group();
    const prepared: PreparedTrial[] = [];
    const refusals = await Promise.all(trials.map(({ collective, dtype }) => this.refusal(collective, dtype)));
    for (const [index, trial] of trials.entries()) {
      const mode = group.canBlock && index % 3 === 2 ? 'runSync' : 'run';
      const options = { mode, ...trial.options } as const;
      const asked = { ...trial, flavour: this.#flavourOf(trial.flavour ?? 'rough'), options };
      prepared.push(await PreparedTrial.prepare(asked, this.size, refusals[index], expect));
    }
    const outcomes = await group.executeEach((member, at) =>
      prepared.map(({ call }, index) => arrange(partOf(call, member), at, index)),
    );
    prepared.forEach((trial, index) => {
      trial.verify(outcomes.map((ofMember) => ofMember[index]));
    });
  }

  /** The reason why the executor cannot run this collective; undefined if it can. */
  refusal(collective: Collective, dtype: DType): Promise<string | undefined> {
    const key = `${nameOf(collective)} ${dtype}`;
    const known = this.#refusals.get(key);
    if (known) return known;
    const asked = this.group().then(({ members }) => members[0]?.refuses(collective, dtype));
    this.#refusals.set(key, asked);
    return asked;
  }

  #flavourOf(flavour: Flavour): Flavour {
    if (this.algorithm || flavour.includes('whole')) return flavour;
    return flavour === 'special' ? 'special whole' : 'whole';
  }

  readonly #expect: Expect = ({ collective, dtype }, inputs) =>
    expectedOutputs({ collective, dtype, inputs, schedule: this.#scheduleOf(collective) });

  #scheduleOf(collective: Collective): Schedule | undefined {
    const name = nameOf(collective);
    const schedule = this.#schedules.get(name) ?? this.algorithm?.algorithm.plan(collective, this.size);
    if (schedule) this.#schedules.set(name, schedule);
    return schedule;
  }
}

/**
 * Returns an expectation: outputs have the same bits as those of `reference`, another executor of
 * the same algorithm.
 */
export function expectFrom(reference: Communicator): Expect {
  return async ({ collective, dtype }, inputs) => {
    const resultDType = outputDType(collective, dtype);
    const tensors = inputs.map((data): Tensor => ({ data: copyOf(data), dtype, shape: [data.length], device: '' }));
    const outputs = inputs.map(({ length }) => zeros(resultDType, [outputLength(collective, length, inputs.length)]));
    await reference.run(collective, tensors, outputs);
    return outputs.map(({ data }, rank) =>
      collective.kind === 'reduce' && rank !== collective.root ? undefined : Array.from(data as Iterable<Plain>),
    );
  };
}

function copyOf(data: TypedArray): TypedArray {
  return data.slice();
}
