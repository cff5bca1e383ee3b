import { CollError, PerReplica, type ProcessGroup, ReduceOp } from '@coll/core';
import { CollectiveAllReduce } from '@coll/multi-worker';
import { componentOf, devicesOf, everyone, mine } from './worker-values.ts';

/** What a member is told where its group fails. */
export interface Told {
  readonly code: string;
  readonly message: string;
}

/** What every worker of a group does at the same time, after which the group has failed; the result is what it was told. */
export type FailingScenario = (group: ProcessGroup, count: number) => Promise<readonly Told[]>;

async function toldOf(call: Promise<unknown>): Promise<Told> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CollError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('the call was expected to fail');
}

function opsOf(group: ProcessGroup, count: number): CollectiveAllReduce {
  return new CollectiveAllReduce(devicesOf(group.rank, count), count * group.size, { group, implementation: 'RING' });
}

function contributions(group: ProcessGroup, count: number, length: number) {
  return mine(
    group,
    count,
    everyone(group, count, (rank, device) => componentOf(rank, device, length)),
  );
}

export const failingScenarios = {
  'values of different lengths': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, group.rank === 1 ? 5 : 4);
    const first = await toldOf(ops.reduce(ReduceOp.SUM, value, value));
    const usual = contributions(group, count, 4);
    return [first, await toldOf(ops.reduce(ReduceOp.SUM, usual, usual))];
  },
  'values of different shapes': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    const shape = group.rank === 1 ? [2, 2] : [4];
    const own = new PerReplica(value.values.map((item) => ({ ...item, shape })));
    return [await toldOf(ops.reduce(ReduceOp.SUM, own, own))];
  },
  'different calls': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    const call = group.rank === 1 ? ops.gather(value, value, 0) : ops.reduce(ReduceOp.SUM, value, value);
    return [await toldOf(call)];
  },
  'a worker that never comes': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    if (group.rank === 1) await new Promise((resolve) => setTimeout(resolve, 600));
    return [await toldOf(ops.reduce(ReduceOp.SUM, value, value, { timeoutSeconds: 0.2 }))];
  },
} satisfies Readonly<Record<string, FailingScenario>>;
