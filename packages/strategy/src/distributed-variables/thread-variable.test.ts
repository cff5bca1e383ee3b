import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { asTensor, type CrossDeviceOps, IndexedSlices, type Tensor, tensor, toNumbers, type Value } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { runAcross, runInReplica } from '../scope/contexts.js';
import { ThreadReplicaContext } from '../threads/thread-replica-context.js';
import { LocalVariable } from '../variables/local-variable.js';
import type { VariableOptions } from '../variables/variable-options.js';
import type { MirroredVariable } from './mirrored-variable.js';

const two = strategyOf(2);
const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

interface Call {
  readonly op?: string;
  readonly root?: number;
  readonly value: Value;
  readonly id: number;
  readonly purpose?: string;
}

/**
 * A replica in its own thread, on a test double of a group that records each call and returns
 * `answer(call)`.
 */
function replicaOf(replica: number, answer: (call: Call) => unknown) {
  const calls: Call[] = [];
  const run = (call: Call) => {
    calls.push(call);
    return answer(call);
  };
  const group = {
    reduceCall: (op: string, value: Value, id: number) => ({ op, value, id }),
    broadcastCall: (value: Value, root: number, id: number) => ({ root, value, id }),
    ownCall: (purpose: string, call: Call) => ({ ...call, purpose }),
    refuse: () => {},
    run: async (call: Call) => run(call),
    runSync: run,
  };
  const ops = { name: 'double', replicaGroup: group } as unknown as CrossDeviceOps;
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const context = new ThreadReplicaContext({ replica, strategy: two, ops, port: port1 });
  const made = (initial: number[], options: VariableOptions) =>
    runInReplica(context, () => two.extended.createVariable(initial, { name: 'w', ...options })) as MirroredVariable;
  return { context, calls, made };
}

const purpose = 'variable';
const numbers = (value: unknown) => [...asTensor(value).data];
const inside = <Result>(context: ThreadReplicaContext, code: () => Result) => runInReplica(context, code);
const plusTen = ({ value }: Call) => tensor(toNumbers(value as Tensor).map((number) => number + 10));
const slices = () =>
  new IndexedSlices(tensor([5, 6], { shape: [1, 2] }), tensor(Int32Array.of(1), { dtype: 'int32' }), [2, 2]);

describe('a variable of a replica in its own thread', () => {
  it('has one component, which starts with the value of replica 0', () => {
    const { context, calls, made } = replicaOf(1, plusTen);
    const variable = made([1, 2], { aggregation: 'SUM' });
    expect(calls).toEqual([
      { root: 0, value: expect.objectContaining({ data: Float64Array.of(1, 2) }), id: 1, purpose },
    ]);
    expect(variable.values).toHaveLength(1);
    expect(variable.values[0]).toMatchObject({ name: 'w/replica_1', device: two.extended.workerDevices[1] });
    expect([variable.isOfThread, variable.firstComponent, variable.isVariable]).toEqual([true, 1, true]);
    expect(inside(context, () => numbers(variable))).toEqual([11, 12]);
  });

  it('combines the values of the replicas by its aggregation', async () => {
    const { context, calls, made } = replicaOf(0, plusTen);
    const variable = made([1, 2], { aggregation: 'MEAN' });
    await inside(context, () => variable.assignAdd([1, 1]));
    inside(context, () => variable.assignSync([5, 5]));
    expect(calls.slice(1)).toEqual([
      { op: 'MEAN', value: expect.objectContaining({ data: Float64Array.of(1, 1) }), id: 0, purpose },
      { op: 'MEAN', value: expect.objectContaining({ data: Float64Array.of(5, 5) }), id: 0, purpose },
    ]);
    expect(inside(context, () => numbers(variable))).toEqual([15, 15]);
  });

  it('uses the value of replica 0 for ONLY_FIRST_REPLICA', async () => {
    const { context, calls, made } = replicaOf(1, plusTen);
    const variable = made([1, 2], { aggregation: 'ONLY_FIRST_REPLICA' });
    await inside(context, () => variable.assign([3, 4]));
    expect(inside(context, () => numbers(variable))).toEqual([13, 14]);
    inside(context, () => variable.assignSubSync([1, 1]));
    expect(calls.slice(1).map(({ op, root }) => [op, root])).toEqual([
      [undefined, 0],
      [undefined, 0],
    ]);
    expect(inside(context, () => numbers(variable))).toEqual([2, 3]);
  });

  it.each([
    [0, [1, 2], [5, 6]],
    [1, [0, 2], []],
  ])(
    'uses the rows of replica 0 for ONLY_FIRST_REPLICA: replica %i passes rows of shape %j',
    async (replica, shape, data) => {
      const answer = ({ op, value }: Call) => (op === undefined ? value : slices());
      const { context, calls } = replicaOf(replica, answer);
      const variable = inside(context, () =>
        two.extended.createVariable(tensor([1, 2, 3, 4], { shape: [2, 2] }), { aggregation: 'ONLY_FIRST_REPLICA' }),
      );
      await inside(context, () => variable.scatterUpdate(slices()));
      const call = calls[1] as Call;
      const brought = call.value as IndexedSlices;
      expect([call.op, brought.values.shape, [...brought.values.data]]).toEqual(['SUM', shape, data]);
      expect([brought.indices.dtype, brought.indices.data.length, brought.denseShape]).toEqual([
        'int32',
        shape[0],
        [2, 2],
      ]);
      expect(inside(context, () => numbers(variable))).toEqual([1, 2, 5, 6]);
    },
  );

  it('cannot be used in cross-replica context', () => {
    const { made } = replicaOf(1, plusTen);
    const variable = made([1], { aggregation: 'SUM' });
    const message = /^get: variable "w" exists separately in the thread of each replica, here of replica 1/;
    expect(() => runAcross(two, () => variable.read())).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT', operation: 'get' },
        message: expect.stringMatching(message),
      }),
    );
  });

  it('is updated only by its own replica', async () => {
    const { context, made } = replicaOf(1, plusTen);
    const variable = made([1], { aggregation: 'SUM' });
    const seen: unknown[] = [];
    const note = (component: unknown, ...args: unknown[]) => {
      seen.push(component, args);
      return 7;
    };
    const options = { args: [2], kwargs: { rate: 3 }, group: false };
    expect(await inside(context, () => two.extended.update(variable, note, options))).toEqual([7]);
    expect(seen).toEqual([expect.any(LocalVariable), [2, { rate: 3 }]]);
  });
});
