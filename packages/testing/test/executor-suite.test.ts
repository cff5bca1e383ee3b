import { ReferenceCommunicator, ThreadCommunicator } from '@coll/core/internal';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { controllerGroup, executorSuite, type MakeCommunicator } from '@coll/testing';
import { describe, expect, it } from 'vitest';
import { brokenExecutors } from './doubles/broken-executors.ts';
import { brokenMembers, membersOf } from './doubles/broken-members.ts';
import { failuresOf } from './failures-of.ts';

interface Among3 {
  readonly only?: RegExp;
  readonly algorithm?: Algorithm;
  readonly patienceMillis?: number;
}

function failuresAmong3(make: MakeCommunicator, options: Among3 = {}): Promise<string[]> {
  const { only, algorithm = directAlgorithm(), patienceMillis } = options;
  const open = controllerGroup(make);
  const declare: Parameters<typeof failuresOf>[0] = (test) =>
    executorSuite({ test, name: 'double', open, algorithms: [{ algorithm }], ranks: [3] });
  return failuresOf(declare, only, patienceMillis);
}

const right: MakeCommunicator = (algorithm, size) => new ReferenceCommunicator({ size, algorithm });

describe('the executor suite', () => {
  it('accepts a correct executor', async () => {
    expect(await failuresAmong3(right)).toEqual([]);
  });

  it.each(brokenExecutors)('detects the broken executor %o', async (Double, only) => {
    const make: MakeCommunicator = (algorithm, size) => new Double({ size, algorithm });
    expect(await failuresAmong3(make, { only })).not.toEqual([]);
  });

  it('accepts correct members of a group', async () => {
    expect(await failuresAmong3(membersOf(ThreadCommunicator))).toEqual([]);
  });

  it.each(brokenMembers)('detects the broken group member %o', async (Double, only) => {
    expect(await failuresAmong3(membersOf(Double), { only, patienceMillis: 1000 })).not.toEqual([]);
  });

  it('tests more than 8 ranks with few cases, which a correct executor passes', async () => {
    const titles: string[] = [];
    const algorithms = [{ algorithm: directAlgorithm() }];
    const declare: Parameters<typeof failuresOf>[0] = (test) =>
      executorSuite({
        test: (title, run) => {
          titles.push(title);
          test(title, run);
        },
        name: 'double',
        open: controllerGroup(membersOf(ThreadCommunicator)),
        algorithms,
        ranks: [9],
      });
    expect(await failuresOf(declare)).toEqual([]);
    expect(titles).toContain('double: direct among 9 supports every length');
    expect(titles).toContain('double: direct among 9 names members that did not arrive by the deadline');
    expect(titles.join()).not.toContain('reduces every dtype');
  });

  it('detects an algorithm that drops a transfer', async () => {
    const plan: Algorithm['plan'] = (collective, ranks) => {
      const schedule = directAlgorithm().plan(collective, ranks);
      return { ...schedule, rounds: schedule.rounds.map((round) => round.slice(1)) };
    };
    const failures = await failuresAmong3(right, {
      only: /supports every length/,
      algorithm: { name: 'forgetful', plan },
    });
    expect(failures.join()).toContain('has no correct schedule for all-reduce');
  });

  it('reports which check failed, where, and the expected value', async () => {
    const [Double, only] = brokenExecutors[3] as (typeof brokenExecutors)[number];
    const make: MakeCommunicator = (algorithm, size) => new Double({ size, algorithm });
    const [first] = await failuresAmong3(make, { only });
    expect(first).toMatch(/run reduce sum to rank 0 of 5 rough float32 elements in own memory among 3 ranks/);
    expect(first).toMatch(/element 0 of the output of rank 1 is .*, must be 7/);
  });
});
