import { deepStrictEqual as equal, match } from 'node:assert/strict';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import type { DeclareTest } from './declare-test.js';
import { type DisagreementName, disagreements } from './member-disagreements.js';
import { mistakes } from './member-mistakes.js';
import type { MemberScenarioName } from './member-scenarios.js';

/** The groups under test and the test framework. */
export interface MemberSuiteOptions {
  /** The function of the test runner that declares a test: `test` or `it`. */
  readonly test: DeclareTest;
  /** The name of the groups, such as `threads of js`. */
  readonly name: string;
  /** The numbers of members to test. */
  readonly sizes: readonly number[];
  /**
   * Opens a group, runs a scenario on each of its members, closes it, and returns the results by
   * rank.
   */
  readonly run: (scenario: MemberScenarioName, size: number) => Promise<readonly unknown[]>;
  /** Whether each member has its own thread, which it may block. Default: true. */
  readonly canBlock?: boolean;
}

const memberSuiteOptions = knownOptions<MemberSuiteOptions>('memberSuite', {
  test: true,
  name: true,
  sizes: true,
  run: true,
  canBlock: true,
});

/**
 * Declares tests of members of a group: their collectives, messages, sub-groups and failures.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { ringAlgorithm } from '@coll/ring';
 * import { memberScenarios, memberSuite } from '@coll/testing';
 * import { test } from 'node:test';
 *
 * memberSuite({
 *   test,
 *   name: 'members of one thread',
 *   sizes: [1, 4],
 *   canBlock: false,
 *   run: (scenario, size) => Promise.all(openMembers({ size, algorithm: ringAlgorithm() }).map(memberScenarios[scenario])),
 * });
 * ```
 */
export function memberSuite(options: MemberSuiteOptions): void {
  requireKnownOptions(options, memberSuiteOptions);
  const { test, name, sizes, run, canBlock = true } = options;
  for (const size of sizes) {
    test(`${name}: ${size} members make all collectives`, async () => {
      const results = await run('collectives', size);
      equal(results, expectedCollectives(size));
    });
    if (canBlock || size === 1) {
      test(`${name}: ${size} members make all collectives by calls that block`, async () => {
        equal(await run('blocking collectives', size), expectedCollectives(size));
      });
    } else {
      test(`${name}: ${size} members that share a thread cannot block it, and go on`, async () => {
        const refused = Object.keys(expectedCollectives(size)[0] ?? {}).map(() => 'ERR_COLL_CONTEXT');
        equal(await run('blocking a shared thread', size), Array(size).fill([...refused, 'done']));
      });
    }
    test(`${name}: ${size} members split by color and key`, async () => {
      equal(await run('split', size), expectedSplit(size));
    });
    if (size === 1) continue;
    test(`${name}: a mistake of one of ${size} members fails only its own call, at once`, async () => {
      const errors = Object.fromEntries(Object.entries(mistakes).map(([mistake, { error }]) => [mistake, error]));
      equal(await run('mistakes of one member', size), Array(size).fill({ errors, next: 'done' }));
    });
    // Each difference takes a group of its own, so only the largest size is tested.
    const differences = size === Math.max(...sizes) ? Object.entries(disagreements) : [];
    for (const [difference, { error }] of differences) {
      test(`${name}: all ${size} members fail if one of them calls ${difference}`, async () => {
        const outcome = [...error, size - 1];
        equal(await run(difference as DisagreementName, size), Array(size).fill([outcome, outcome]));
      });
    }
    test(`${name}: the error of ${size} members whose lists differ in length states both lengths`, async () => {
      const messages = await run('lists of different lengths', size);
      match(String(messages[0]), new RegExp(`rank 0.* passes a list of 2, rank ${size - 1} passes a list of 3`));
      equal(messages, Array(size).fill(messages[0]));
    });
    test(`${name}: ${size} members send messages of all lengths, both ways at once`, async () => {
      const all = Array<boolean>(size - 1).fill(true);
      equal(await run('messages', size), Array(size).fill(all));
    });
    test(`${name}: a message of another length fails the group of ${size}`, async () => {
      const [sender, receiver, ...others] = await run('a message of another length', size);
      equal(sender, ['sent', 'ERR_COLL_SHAPE_MISMATCH']);
      equal(receiver, ['ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_SHAPE_MISMATCH']);
      equal(others, Array(size - 2).fill('ERR_COLL_SHAPE_MISMATCH'));
    });
    test(`${name}: a message of another shape fails the group of ${size}`, async () => {
      const [sender, receiver, ...others] = await run('a message of another shape', size);
      equal(sender, ['sent', 'ERR_COLL_SHAPE_MISMATCH']);
      equal(receiver, [['InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH', 1], 'ERR_COLL_SHAPE_MISMATCH']);
      equal(others, Array(size - 2).fill('ERR_COLL_SHAPE_MISMATCH'));
    });
    test(`${name}: a message that never arrives fails the group of ${size} at its deadline`, async () => {
      equal(await run('a message that never arrives', size), Array(size).fill('ERR_COLL_DEADLINE'));
    });
    test(`${name}: ${size} members fail if only one refuses a message`, async () => {
      const [sender, receiver, ...others] = await run('messages that are refused', size);
      for (const member of [sender, receiver]) equal(member, ['ERR_COLL_VALUE', 7, 'ERR_COLL_PEER_FAILED']);
      for (const other of others) equal(other, 'ERR_COLL_PEER_FAILED');
    });
    test(`${name}: a receiver in a group of ${size} is notified of a sender that leaves`, async () => {
      const [receiver] = await run('a member that leaves', size);
      equal(receiver, 'ERR_COLL_CLOSED');
    });
    if (size === 2) continue;
    test(`${name}: messages in a group of ${size} go on after another member has left`, async () => {
      const results = await run('a third member that leaves', size);
      const closed = ['RuntimeError', 'ERR_COLL_CLOSED', size - 1];
      equal(results.slice(0, 2), Array(2).fill(['done', closed, closed]));
      equal(results.slice(2, -1), Array(size - 3).fill([closed, closed]));
    });
  }
}

function expectedCollectives(size: number): readonly object[] {
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  const valuesOf = (rank: number) => Int32Array.from({ length: 2 * size }, (_, index) => 100 * rank + index);
  const joined = Int32Array.from(ranks.flatMap((rank) => [...valuesOf(rank)]));
  const sum = valuesOf(0).map((_, index) => ranks.reduce((total, rank) => total + 100 * rank + index, 0));
  const root = size - 1;
  return ranks.map((rank) => ({
    allReduce: sum,
    mean: Float64Array.from(sum, (value) => value / size),
    list: [valuesOf(root), valuesOf(root).slice(1)],
    reduce: rank === root ? sum : undefined,
    broadcast: valuesOf(root),
    allGather: joined,
    gather: rank === root ? joined : undefined,
    scatter: valuesOf(root).slice(2 * rank, 2 * rank + 2),
    reduceScatter: sum.slice(2 * rank, 2 * rank + 2),
    allToAll: Int32Array.from(ranks.flatMap((from) => [...valuesOf(from).slice(2 * rank, 2 * rank + 2)])),
  }));
}

function expectedSplit(size: number): readonly unknown[] {
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  return ranks.map((rank) => {
    // The lowest rank of a color has the highest key.
    const part = ranks.filter((other) => other % 2 === rank % 2).reverse();
    const own = part.indexOf(rank);
    return {
      rank: own,
      size: part.length,
      sum: Int32Array.of(part.reduce((total, other) => total + other, 0)),
      order: Int32Array.from(part),
      from: Int32Array.of(part[(own + part.length - 1) % part.length] as number),
      none: undefined,
    };
  });
}
