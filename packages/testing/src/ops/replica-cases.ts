import assert from 'node:assert/strict';
import {
  type CrossDeviceOps,
  type DType,
  dtypes,
  IndexedSlices,
  NotImplementedError,
  ReduceOp,
  RuntimeError,
  type Tensor,
  tensor,
  ValueError,
} from '@coll/core';
import { portableWorld, reduceOps } from '@coll/core/plugin';
import { assertRejects } from './assert-rejects.js';
import { assertSeparate, assertSlices, assertTensor, like } from './assert-value.js';
import { combinedElements, componentOn, meanDTypes } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { Unchanged } from './unchanged.js';

/** Tests of collectives that are called by replicas in this thread. */
export const replicaCases: OpsCases = {
  'reduces the values of all replicas': reducesTogether,
  'keeps structures, with sparse values in them': keepsStructures,
  'writes results into the memory passed as into': writesInto,
  'refuses memory that does not fit the results': refusesInto,
  'matches calls by their order, replica by replica': matchesCalls,
  'supports a world with one device': servesOne,
  'refuses to block a thread that replicas share': refusesToBlock,
  'refuses replicas of other processes': knowsReplicas,
  'refuses replica collectives without a world': hasNoReplicas,
};

const { SUM, MEAN } = ReduceOp;

/**
 * Creates ops for a world of `count` replicas. The returned function `everyone` makes the same call
 * for each replica.
 */
export async function openWorld(subject: OpsSubject, count: number) {
  const devices = subject.devices(count);
  const ops = await subject.create({}, portableWorld(devices));
  const everyone = <Result>(call: (replica: number, ops: CrossDeviceOps) => Promise<Result>) =>
    Promise.all(devices.map((_, replica) => call(replica, ops)));
  return { devices, ops, everyone };
}

async function reducesTogether(subject: OpsSubject): Promise<void> {
  for (const count of subject.replicas.filter((replicas) => replicas > 1)) {
    const { devices, ops, everyone } = await openWorld(subject, count);
    for (const op of reduceOps) {
      for (const dtype of dtypes.filter((each) => op !== MEAN || each !== 'bool')) {
        // A component without a device gets that of its replica.
        const own = devices.map((device, replica) => componentOn(replica % 2 ? device : '', replica, { dtype, op }));
        const unchanged = new Unchanged(...own);
        const results = await everyone((replica) => ops.allReduce(op, own[replica] as Tensor, replica));
        const resultDType = op === MEAN ? (meanDTypes[dtype] as DType) : dtype;
        const expected = { dtype: resultDType, shape: [2, 3], elements: combinedElements(op, own) };
        results.forEach((result, replica) => {
          assertTensor(`${op} of ${dtype} on replica ${replica}`, result, expected, devices[replica]);
        });
        assertSeparate(`${op} of ${dtype}`, [...own, ...(results as Tensor[])]);
        unchanged.assert(`${op} of ${dtype}`);
      }
    }
    await ops.close();
  }
}

interface Gradients {
  readonly layers: readonly Tensor[];
  readonly embedding: IndexedSlices;
  readonly loss: number;
  readonly bias: Float32Array;
}

function gradientsOf(replica: number): Gradients {
  return {
    layers: [componentOn('', replica, { seed: 1 }), componentOn('', replica, { seed: 2, dtype: 'int32', shape: [3] })],
    embedding: new IndexedSlices(
      tensor([replica, 1], { dtype: 'float32', shape: [1, 2] }),
      tensor(Int32Array.of(replica)),
    ),
    loss: replica + 0.5,
    bias: Float32Array.of(replica, 1),
  };
}

async function keepsStructures(subject: OpsSubject): Promise<void> {
  const { ops, everyone } = await openWorld(subject, 2);
  const own = [gradientsOf(0), gradientsOf(1)] as const;
  const results = await everyone((replica) => ops.allReduce(SUM, { ...(own[replica] as Gradients) } as never, replica));
  for (const result of results as unknown as readonly Record<keyof Gradients, unknown>[]) {
    assert.deepEqual(
      Object.keys(result),
      ['layers', 'embedding', 'loss', 'bias'],
      'the result has the keys of the value',
    );
    own[0].layers.forEach((layer, index) => {
      const elements = combinedElements(SUM, [layer, own[1].layers[index] as Tensor]);
      assertTensor(`layer ${index}`, (result.layers as readonly unknown[])[index], { ...layer, elements });
    });
    const rows = tensor([0, 1, 1, 1], { dtype: 'float32', shape: [2, 2] });
    assertSlices('embedding', result.embedding, like(rows), like(tensor(Int32Array.of(0, 1))));
    assertTensor('loss', result.loss, like(tensor(2)));
    assertTensor('bias', result.bias, like(tensor(Float32Array.of(1, 2))));
  }
  await ops.close();
}

async function writesInto(subject: OpsSubject): Promise<void> {
  const { ops, everyone, devices } = await openWorld(subject, 2);
  const own = devices.map((device, replica) => componentOn(device, replica));
  const elements = combinedElements(SUM, own);
  const expected = { dtype: 'float32', shape: [2, 3], elements } as const;
  const targets = devices.map((device, replica) => componentOn(device, replica, { seed: 5 }));
  const written = await everyone((replica) =>
    ops.allReduce(SUM, own[replica] as Tensor, replica, { into: targets[replica] as Tensor }),
  );
  written.forEach((result, replica) => {
    assertTensor('the given memory', targets[replica], expected);
    assert.equal((result as Tensor).data, targets[replica]?.data, 'the result is in the given memory');
  });
  await everyone((replica) => ops.allReduce(SUM, own[replica] as Tensor, replica, { into: own[replica] as Tensor }));
  for (const component of own) assertTensor('in place', component, expected);
  await ops.close();
}

async function refusesInto(subject: OpsSubject): Promise<void> {
  const { ops, devices } = await openWorld(subject, 2);
  const own = componentOn(devices[0] as string, 0, { dtype: 'int32' });
  const [short, long, floats] = [
    componentOn('', 0, { dtype: 'int32', shape: [2] }),
    componentOn('', 0, { dtype: 'int32', shape: [7] }),
    componentOn('', 0, { dtype: 'float32' }),
  ] as const;
  for (const into of [short, long, floats, [own, own]]) {
    await assertRejects('results that do not fit', ops.allReduce(SUM, own, 0, { into }), ValueError);
  }
  await assertRejects('a mean of integers into integers', ops.allReduce(MEAN, own, 0, { into: own }), ValueError);
  const both = ops.allReduce(SUM, [own, own], 0, { into: [short, short] });
  await assertRejects('two results in the same memory', both, ValueError);
  await ops.close();
}

async function matchesCalls(subject: OpsSubject): Promise<void> {
  const { ops, everyone } = await openWorld(subject, subject.most);
  const replicas = Array.from({ length: subject.most }, (_, replica) => replica);
  const own = (replica: number, call: number) => componentOn('', replica, { seed: call, shape: [call] });
  const calls = [0, 1, 2, 3, 4, 5];
  // Half of the replicas start all calls at once; the others wait for each call.
  const results = await everyone(async (replica) => {
    if (replica % 2 === 0) return Promise.all(calls.map((call) => ops.allReduce(SUM, own(replica, call), replica)));
    const made = [];
    for (const call of calls) made.push(await ops.allReduce(SUM, own(replica, call), replica));
    return made;
  });
  for (const ofReplica of results) {
    ofReplica.forEach((result, call) => {
      const elements = combinedElements(
        SUM,
        replicas.map((replica) => own(replica, call)),
      );
      assertTensor(`call ${call}`, result, { dtype: 'float32', shape: [call], elements });
    });
  }
  await ops.close();
}

async function servesOne(subject: OpsSubject): Promise<void> {
  const { ops } = await openWorld(subject, 1);
  const own = componentOn(subject.device(0), 0, { dtype: 'int32' });
  assertTensor('the sum over one replica', await ops.allReduce(SUM, own, 0), like(own));
  assertTensor('the synchronous sum over one replica', ops.allReduceSync(SUM, own, 0), like(own));
  const mean = { ...like(own), dtype: 'float64', elements: Array.from(own.data, Number) } as const;
  assertTensor('the mean over one replica', await ops.allReduce(MEAN, own, 0), mean);
  await ops.close();
}

async function refusesToBlock(subject: OpsSubject): Promise<void> {
  const { ops } = await openWorld(subject, 2);
  const block = async () => ops.allReduceSync(SUM, tensor(1), 0);
  await assertRejects('blocking the others', block(), RuntimeError, 'ERR_COLL_CONTEXT');
  await ops.close();
}

async function knowsReplicas(subject: OpsSubject): Promise<void> {
  const { ops } = await openWorld(subject, 2);
  for (const replica of [2, -1, 0.5]) {
    await assertRejects(`replica ${replica}`, ops.allReduce(SUM, tensor(1), replica), RangeError);
  }
  await assertRejects('an op that is not a ReduceOp', ops.allReduce('sum' as ReduceOp, tensor(1), 0), ValueError);
  await assertRejects('a value that is not a tensor', ops.allReduce(SUM, 'three' as never, 0), ValueError);
  await ops.close();
}

async function hasNoReplicas(subject: OpsSubject): Promise<void> {
  await using ops = await subject.create();
  await assertRejects('allReduce without a world', ops.allReduce(SUM, tensor(1), 0), NotImplementedError);
  const block = async () => ops.allReduceSync(SUM, tensor(1), 0);
  await assertRejects('allReduceSync without a world', block(), NotImplementedError);
}
