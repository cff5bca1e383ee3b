import assert from 'node:assert/strict';
import {
  type CrossDeviceOps,
  type DType,
  IndexedSlices,
  InternalError,
  InvalidArgumentError,
  jsEngine,
  type ReduceOp,
  type Tensor,
  tensor,
} from '@coll/core';
import { createThreadGroup, threadWorld } from '@coll/core/plugin';
import { assertRejects } from './assert-rejects.js';
import { assertTensor, like } from './assert-value.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { openWorld } from './replica-cases.js';
import { assertRows, type Rows, slicesOn, usualRows, usualSum } from './sparse-values.js';

/**
 * Tests of collectives with sparse values that replicas call: either all replicas on one ops
 * object, or each replica on an ops object of its own, as in separate threads.
 */
export const sparseReplicaCases: OpsCases = {
  'concatenates the slices of all replicas': joins,
  'sums rows with the same index for replicas with deduplicate': deduplicates,
  'reports mismatching slices to all replicas with the same error': refusesUnlike,
  'sums dense and sparse values of replicas of one thread': addsMixed,
};

type CallAll = (call: (ops: CrossDeviceOps, replica: number) => Promise<unknown>) => Promise<unknown>[];

/**
 * Runs a check for `count` replicas twice: first with one ops object for all replicas, then with
 * one per replica.
 */
async function inBothWorlds(
  subject: OpsSubject,
  count: number,
  check: (all: CallAll, devices: readonly string[]) => Promise<void>,
): Promise<void> {
  const { ops, devices } = await openWorld(subject, count);
  await check((call) => devices.map((_, replica) => call(ops, replica)), devices);
  await ops.close();
  const group = createThreadGroup({ size: count, maxBytes: 2 ** 22, spins: 0 });
  const open = (_: string, replica: number) => subject.create({}, threadWorld(group, replica, devices, jsEngine));
  const members = await Promise.all(devices.map(open));
  await check((call) => members.map((member, replica) => call(member, replica)), devices);
  await Promise.all(members.map((member) => member.close()));
}

async function joins(subject: OpsSubject): Promise<void> {
  await inBothWorlds(subject, 3, async (all, devices) => {
    const types: readonly DType[] = ['int32', 'uint8', 'int64'];
    const results = await Promise.all(
      all((ops, replica) => {
        const rows = usualRows[replica] as Rows;
        const [same, other] = [slicesOn('', rows), slicesOn('', { ...rows, indexDType: types[replica] as DType })];
        return ops.allReduce('SUM', { same, other, dense: Float32Array.of(replica) }, replica);
      }),
    );
    for (const [replica, result] of results.entries()) {
      const { same, other, dense } = result as Record<'same' | 'other' | 'dense', unknown>;
      const places = devices.slice(replica, replica + 1);
      assertRows(`the slices on replica ${replica}`, same, places, usualSum);
      assertRows(`indices of several types on replica ${replica}`, other, places, { ...usualSum, indexDType: 'int64' });
      assertTensor('a dense value beside them', dense, like(tensor(Float32Array.of(3))), places[0]);
    }
  });
}

async function deduplicates(subject: OpsSubject): Promise<void> {
  await inBothWorlds(subject, 3, async (all, devices) => {
    const reduced = (op: ReduceOp) =>
      all((ops, replica) => {
        const slices = slicesOn('', usualRows[replica] as Rows);
        return ops.allReduce(op, slices, replica, { deduplicate: true });
      });
    const unique = { indices: [0, 3], values: [10, 13, 6, 8] };
    const quotients = unique.values.map((number) => Math.fround(number / 3));
    for (const [op, values] of [
      ['SUM', unique.values],
      ['MEAN', quotients],
    ] as const) {
      for (const [replica, result] of (await Promise.all(reduced(op))).entries()) {
        const places = devices.slice(replica, replica + 1);
        assertRows(`the ${op} on replica ${replica}`, result, places, { ...unique, values });
      }
    }
  });
}

async function refusesUnlike(subject: OpsSubject): Promise<void> {
  const wide = new IndexedSlices(tensor([1, 2, 3], { dtype: 'float32', shape: [1, 3] }), Int32Array.of(0));
  const [usual] = usualRows as readonly [Rows];
  const cases = [
    ['unlike rows', wide, InvalidArgumentError, 'ERR_COLL_SHAPE_MISMATCH'],
    ['unlike dtypes', slicesOn('', { ...usual, dtype: 'float64' }), InternalError, 'ERR_COLL_DTYPE_MISMATCH'],
  ] as const;
  for (const [title, odd, Class, code] of cases) {
    await inBothWorlds(subject, 3, async (all) => {
      const calls = all((ops, replica) => ops.allReduce('SUM', replica === 1 ? odd : slicesOn('', usual), replica));
      const errors = await Promise.all(calls.map((call) => assertRejects(title, call, Class, code)));
      for (const error of errors) assert.equal(error.rank, 1, `${title}: the odd replica`);
    });
  }
}

async function addsMixed(subject: OpsSubject): Promise<void> {
  const { ops, everyone, devices } = await openWorld(subject, 2);
  const dense = tensor(new Float32Array(8).fill(1), { shape: [4, 2] });
  const values: readonly (Tensor | IndexedSlices)[] = [dense, slicesOn('', usualSum)];
  const results = await everyone((replica) => ops.allReduce('SUM', values[replica] as Tensor, replica));
  const sum = tensor(Float32Array.of(11, 14, 1, 1, 1, 1, 7, 9), { shape: [4, 2] });
  for (const [replica, result] of results.entries())
    assertTensor(`the sum on replica ${replica}`, result, like(sum), devices[replica]);
  await ops.close();
}
