import {
  CollError,
  type DType,
  IndexedSlices,
  PerReplica,
  type ProcessGroup,
  ReduceOp,
  type Tensor,
  tensor,
} from '@coll/core';
import { CollectiveAllReduce } from '@coll/multi-worker';
import { componentOf, devicesOf, everyone, mine } from './worker-values.ts';

/** The error of a member whose group fails. */
export interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly rank: number | undefined;
}

/** What every worker of a group does at the same time, after which the group has failed; the result is its error. */
export type FailingScenario = (group: ProcessGroup, count: number) => Promise<readonly Outcome[]>;

async function outcomeOf(call: Promise<unknown>): Promise<Outcome> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CollError) return { code: error.code, message: error.message, rank: error.rank };
    throw error;
  }
  throw new Error('the call was expected to fail');
}

function opsOf(group: ProcessGroup, count: number, implementation: 'AUTO' | 'RING' = 'RING'): CollectiveAllReduce {
  return new CollectiveAllReduce(devicesOf(group.rank, count), count * group.size, { group, implementation });
}

function contributions(group: ProcessGroup, count: number, length: number, dtype: DType = 'float32') {
  return mine(
    group,
    count,
    everyone(group, count, (rank, device) => componentOf(rank, device, length, dtype)),
  );
}

function slicesOf(item: Tensor): IndexedSlices {
  return new IndexedSlices({ ...item, shape: [2, 2] }, tensor(Int32Array.of(0, 1), { device: item.device }), [2, 2]);
}

/** The odd worker comes when the others have given up. */
async function notComing(group: ProcessGroup, count: number, implementation: 'AUTO' | 'RING'): Promise<Outcome[]> {
  await using ops = opsOf(group, count, implementation);
  const value = contributions(group, count, 4);
  while (isOdd(group) && !group.failure?.()) await new Promise((resolve) => setTimeout(resolve, 20));
  return [await outcomeOf(ops.reduce(ReduceOp.SUM, value, value, { timeoutSeconds: 0.2 }))];
}

/** Whether this is the worker that does something else than the others. */
function isOdd(group: ProcessGroup): boolean {
  return group.rank === 1;
}

export const failingScenarios = {
  'values of different lengths': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, group.rank === 1 ? 5 : 4);
    const first = await outcomeOf(ops.reduce(ReduceOp.SUM, value, value));
    const usual = contributions(group, count, 4);
    return [first, await outcomeOf(ops.reduce(ReduceOp.SUM, usual, usual))];
  },
  'values of different shapes': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    const shape = group.rank === 1 ? [2, 2] : [4];
    const own = new PerReplica(value.values.map((item) => ({ ...item, shape })));
    return [await outcomeOf(ops.reduce(ReduceOp.SUM, own, own))];
  },
  'different calls': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    const call = group.rank === 1 ? ops.gather(value, value, 0) : ops.reduce(ReduceOp.SUM, value, value);
    return [await outcomeOf(call)];
  },
  'different ops': async (group, count) => {
    await using ops = opsOf(group, count, 'AUTO');
    const value = contributions(group, count, 4);
    return [await outcomeOf(ops.reduce(isOdd(group) ? ReduceOp.MAX : ReduceOp.SUM, value, value))];
  },
  'values of different dtypes': async (group, count) => {
    await using ops = opsOf(group, count, 'AUTO');
    const value = contributions(group, count, 1 << 16, isOdd(group) ? 'float64' : 'float32');
    return [await outcomeOf(ops.reduce(ReduceOp.MEAN, value, value))];
  },
  'gathers of different dtypes': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4, isOdd(group) ? 'int32' : 'float32');
    return [await outcomeOf(ops.gather(value, value, 0))];
  },
  'gathers along other shapes': async (group, count) => {
    await using ops = opsOf(group, count);
    const columns = isOdd(group) ? 3 : 2;
    const value = contributions(group, count, 6);
    const rows = new PerReplica(value.values.map((item) => ({ ...item, shape: [6 / columns, columns] })));
    return [await outcomeOf(ops.gather(rows, rows, 0))];
  },
  'sparse values on some workers only': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    const own = isOdd(group) ? new PerReplica(value.values.map(slicesOf)) : value;
    return [await outcomeOf(ops.reduce(ReduceOp.SUM, own, own))];
  },
  'different ops for sparse values': async (group, count) => {
    await using ops = opsOf(group, count);
    const own = new PerReplica(contributions(group, count, 4).values.map(slicesOf));
    return [await outcomeOf(ops.reduce(isOdd(group) ? ReduceOp.MEAN : ReduceOp.SUM, own, own))];
  },
  'different implementations': async (group, count) => {
    await using ops = opsOf(group, count, isOdd(group) ? 'RING' : 'AUTO');
    const value = contributions(group, count, 4);
    return [await outcomeOf(ops.reduce(ReduceOp.SUM, value, value))];
  },
  'a worker whose call is aborted': async (group, count) => {
    await using ops = opsOf(group, count);
    const value = contributions(group, count, 4);
    const controller = new AbortController();
    const call = { timeoutSeconds: 120, signal: controller.signal };
    const running = outcomeOf(ops.reduce(ReduceOp.SUM, value, value, call));
    if (!isOdd(group)) return [await running];
    // The call has not begun. The next one meets the call in which the other workers wait.
    controller.abort(new Error('enough'));
    await running;
    return [await outcomeOf(ops.reduce(ReduceOp.SUM, value, value, { timeoutSeconds: 120 }))];
  },
  'a worker that never comes': (group, count) => notComing(group, count, 'RING'),
  'a worker that never comes while links are measured': (group, count) => notComing(group, count, 'AUTO'),
} satisfies Readonly<Record<string, FailingScenario>>;

/** Which ones there are. */
export type FailingScenarioName = keyof typeof failingScenarios;

/** The code of the error that all workers get, and words of its message. */
export const expectedFailures: Readonly<Record<FailingScenarioName, readonly [code: string, words: RegExp]>> = {
  'values of different lengths': ['ERR_COLL_SHAPE_MISMATCH', /all-reduce sum of 4 float32 .* but all-reduce sum of 5 /],
  'values of different shapes': ['ERR_COLL_SHAPE_MISMATCH', /passes values of other shapes/],
  'different calls': [
    'ERR_COLL_MISMATCH',
    /all-reduce sum of 4 float32 elements .*, but all-gather of 1 float32 value/,
  ],
  'different ops': ['ERR_COLL_MISMATCH', /all-reduce sum of 4 float32 .* but all-reduce max of 4 float32 /],
  'values of different dtypes': ['ERR_COLL_DTYPE_MISMATCH', /all-reduce mean of 65536 float32 .* 65536 float64 /],
  'gathers of different dtypes': ['ERR_COLL_DTYPE_MISMATCH', /all-gather of 1 float32 value .* of 1 int32 value /],
  'gathers along other shapes': ['ERR_COLL_SHAPE_MISMATCH', /all-gather along axis 0: replica 0.*\[/],
  'sparse values on some workers only': [
    'ERR_COLL_MISMATCH',
    /all-reduce sum of 4 .*, but all-reduce of 1 sparse value/,
  ],
  'different ops for sparse values': ['ERR_COLL_MISMATCH', /calls sum, .* calls mean/],
  'different implementations': ['ERR_COLL_MISMATCH', /a measurement of the links.* all-reduce sum of 4 /],
  'a worker whose call is aborted': ['ERR_COLL_ABORTED', /caught ERR_COLL_ABORTED/],
  'a worker that never comes': ['ERR_COLL_DEADLINE', /^all-reduce sum .*rank (1|2, 3 \(worker 1\)) did not arrive/],
  'a worker that never comes while links are measured': [
    'ERR_COLL_DEADLINE',
    /^measure the links for all-reduce sum .*rank (1|2, 3 \(worker 1\)) did not arrive/,
  ],
};
