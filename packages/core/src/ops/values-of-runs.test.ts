import { directAlgorithm } from '@coll/direct';
import { beforeEach, describe, expect, it } from 'vitest';
import { on, spread, TestedAllReduce } from '../../test/tested-all-reduce.js';
import type { Collective } from '../collectives/collective.js';
import { portableWorld } from '../engines/worlds.js';
import { hierarchical } from '../hierarchical/hierarchical-communicator.js';
import { jsEngine } from '../js/js-engine.js';
import { ReplicaCollectives } from '../replicas/replica-collectives.js';
import type { Communicator, RunOptions, Segments, ValuePart } from '../runtime/communicator.js';
import { drive } from '../runtime/drive.js';
import { ForwardingCommunicator } from '../runtime/forwarding-communicator.js';
import { PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { tensor } from '../values/tensor.js';

const seen: (readonly ValuePart[] | undefined)[] = [];
beforeEach(() => {
  seen.length = 0;
});

/** Records the values of each call. */
class Noting extends ForwardingCommunicator {
  override run(collective: Collective, inputs: readonly Segments[], outputs: readonly Segments[], given?: RunOptions) {
    seen.push(given?.values);
    return super.run(collective, inputs, outputs, given);
  }
}

const devices = ['cpu:0', 'cpu:1'];
const opsOf = (numPacks = 1) =>
  new TestedAllReduce({ world: portableWorld(devices), numPacks, communicator: (_, engine) => new Noting(engine) });
const [one, two] = [spread([1, 2], [3, 4]), spread([1, 2, 3, 4], [5, 6, 7, 8])];
const pairs = [one, two].map((value) => [value, value] as const);
const part = (id: string | number, begin: number, offset: number, length: number) => ({ id, begin, offset, length });

describe('RunOptions.values', () => {
  it('lists the parts of values in each pack, with the index of the value as id', async () => {
    await opsOf().batchReduce('SUM', pairs);
    await opsOf(2).batchReduce('SUM', pairs);
    expect(seen).toEqual([
      [part(0, 0, 0, 2), part(1, 0, 2, 4)],
      [part(0, 0, 0, 2), part(1, 0, 2, 1)],
      [part(1, 1, 0, 3)],
    ]);
  });

  it('has the names of the call as ids, also if values are reduced one by one', async () => {
    const ops = opsOf();
    const names = ['bias', 'kernel'];
    await ops.batchReduce('SUM', pairs, { names });
    await ops.batchReduce(
      'SUM',
      [
        [one, 'cpu:1'],
        [two, two],
      ],
      { names },
    );
    await ops.reduce('SUM', two, devices, { names: [7] });
    expect(seen).toEqual([
      [part('bias', 0, 0, 2), part('kernel', 0, 2, 4)],
      [part('kernel', 0, 0, 4)],
      [part(7, 0, 0, 4)],
    ]);
  });

  it('numbers dense values as in the list of the caller, if others are sparse', async () => {
    const slices = (row: number) =>
      new IndexedSlices(tensor([row], { shape: [1, 1] }), tensor(Int32Array.of(0)), [1, 1]);
    const sparse = new PerReplica([slices(1), slices(2)]);
    await opsOf().batchReduce('SUM', [[sparse, devices] as const, [one, one] as const]);
    expect(seen).toEqual([[part(1, 0, 0, 2)]]);
  });

  it('has the names of a call inside replicas, by leaf of the structure', async () => {
    const ops = opsOf();
    const names = ['first', 'second'];
    const value = { a: on('', 1), b: [on('', 2, 3)] };
    await Promise.all([0, 1].map((replica) => ops.allReduce('SUM', value, replica, { names })));
    expect(seen).toEqual([[part('first', 0, 0, 1), part('second', 0, 1, 2)]]);
  });

  it('numbers values that arrive one by one as in the structure', async () => {
    const group = opsOf().replicaGroup as NonNullable<TestedAllReduce['replicaGroup']>;
    const calls = [0, 1].map((replica) =>
      group.runArriving('SUM', [Promise.resolve(on('', 1)), Promise.resolve(on('', 2))], replica, {
        bytesPerPack: 1,
        names: replica === 0 ? ['a', 'b'] : undefined,
      }),
    );
    await Promise.all(calls.map(({ ended }) => ended));
    expect(seen).toEqual([[part('b', 0, 0, 1)], [part('a', 0, 0, 1)]]);
  });
});

describe('RunOptions.values of parts of a call', () => {
  it('reach the level between workers, in which the buffers have the same elements', async () => {
    const [within, across] = [2, 1].map((size) => jsEngine.communicator(size, directAlgorithm()));
    const levels = hierarchical([within as Communicator], new Noting(across as Communicator));
    const ops = new TestedAllReduce({ world: portableWorld(devices), communicator: () => levels });
    await ops.batchReduce('SUM', pairs, { names: ['bias', 'kernel'] });
    expect(seen).toEqual([[part('bias', 0, 0, 2), part('kernel', 0, 2, 4)]]);
  });

  it('are those of a broadcast, too', async () => {
    const on = new Noting(jsEngine.communicator(1, directAlgorithm()));
    const values = [tensor([1, 2]), tensor([3])];
    await drive(new ReplicaCollectives(on).broadcast(values, 0, undefined, '', undefined, ['bias', 'scale']));
    expect(seen).toEqual([[part('bias', 0, 0, 2), part('scale', 0, 2, 1)]]);
  });
});

describe('names', () => {
  it.each([
    ['one for two values', ['a'], 'names must have one name per value, got 1 names for 2 values'],
    ['twice the same', ['a', 'a'], 'names must be a list of different strings or numbers'],
    ['an object', [{}, {}], 'names must be a list of different strings or numbers'],
    ['a string', 'ab', 'names must be a list of different strings or numbers, got "ab"'],
  ])('cannot be %s', async (_, names, message) => {
    const ops = opsOf();
    const options = { names: names as readonly string[] };
    const failing = { name: 'ValueError', message: expect.stringContaining(message) };
    await expect(ops.batchReduce('SUM', pairs, options)).rejects.toMatchObject(failing);
    await expect(ops.allReduce('SUM', [on('', 1), on('', 2)], 0, options)).rejects.toMatchObject(failing);
  });

  it('are unknown to gathers, which have no buffers of values', async () => {
    await expect(opsOf().gather(one, 'cpu:0', 0, { names: ['a'] })).rejects.toThrow('names');
  });
});
