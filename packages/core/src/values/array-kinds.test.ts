import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { Float16ArrayDouble, halves } from '../../test/float16-array-double.js';
import { ReplicaVerbs } from '../../test/replica-verbs.js';
import { TestedAllReduce } from '../../test/tested-all-reduce.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { openMembers } from '../engines/open-members.js';
import { portableWorld } from '../engines/worlds.js';
import type { Member } from '../members/member.js';
import { PerReplica } from './distributed-values.js';
import { asTensor, type Tensor, tensor } from './tensor.js';

const [one, two] = [0x3c00, 0x4000];
const twos = new Float16ArrayDouble([two, two]);
const value = () => halves(one, one);

describe('a Float16Array of a member', () => {
  const both = <R>(call: (member: Member) => Promise<R>) =>
    Promise.all(openMembers({ size: 2, algorithm: directAlgorithm(), engine: 'js' }).map(call));
  const bits = (length: number, bit: number) => new Float16ArrayDouble(Array(length).fill(bit));

  it('comes back as a Float16Array from all collectives', async () => {
    expect(await both((member) => member.allReduce('sum', value()))).toEqual([twos, twos]);
    expect(await both((member) => member.allReduce('mean', value()))).toEqual([bits(2, one), bits(2, one)]);
    expect(await both((member) => member.allReduce('sum', [value(), value()]))).toEqual(Array(2).fill([twos, twos]));
    expect(await both((member) => member.reduce('sum', 0, value()))).toEqual([twos, undefined]);
    expect(await both((member) => member.broadcast(1, value()))).toEqual([bits(2, one), bits(2, one)]);
    expect(await both((member) => member.allGather(value()))).toEqual([bits(4, one), bits(4, one)]);
    expect(await both((member) => member.gather(1, value()))).toEqual([undefined, bits(4, one)]);
    expect(await both((member) => member.reduceScatter('sum', value()))).toEqual([bits(1, two), bits(1, two)]);
    expect(await both((member) => member.allToAll(value()))).toEqual([bits(2, one), bits(2, one)]);
  });

  it('is returned if it is the memory for the result', async () => {
    const into = [halves(0, 0), halves(0, 0)];
    const at = ({ rank }: Member) => into[rank] as never;
    expect((await both((member) => member.allReduce('sum', value(), { into: at(member) })))[1]).toBe(into[1]);
    expect(into).toEqual([twos, twos]);
    const root = (member: Member) => (member.rank === 0 ? halves(one, two, two, one) : undefined);
    const blocks = await both((member) => member.scatter(0, at(member), root(member) as never));
    expect(blocks[1]).toBe(into[1]);
    expect(into).toEqual([new Float16ArrayDouble([one, two]), new Float16ArrayDouble([two, one])]);
    const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm(), engine: 'js' });
    const [received] = await Promise.all([second?.receive(0, halves(0, 0)), first?.send(1, value())]);
    expect(received).toEqual(bits(2, one));
  });

  it('is accepted as the data of a tensor, and comes back as such data', async () => {
    const given = { ...tensor([1, 1], { dtype: 'float16' }), data: value() as never };
    const [sum] = await both((member) => member.allReduce('sum', given as Tensor));
    expect(sum).toEqual({ data: twos, dtype: 'float16', shape: [2], device: '' });
    const [again] = await both((member) => member.broadcast(0, sum as Tensor));
    expect(again?.data).toEqual(twos);
  });

  it('stays a Uint16Array if bits were passed, and a Uint8ClampedArray stays one', async () => {
    const given = tensor([1, 1], { dtype: 'float16' });
    const [sum] = await both((member) => member.allReduce('sum', given));
    expect(sum?.data).toEqual(new Uint16Array([two, two]));
    const [pixels] = await both((member) => member.allReduce('max', new Uint8ClampedArray([member.rank]) as never));
    expect(pixels).toEqual(new Uint8ClampedArray([1]));
    const [mean] = await both((member) => member.allReduce('mean', new Uint8ClampedArray([member.rank]) as never));
    expect(mean).toEqual(new Float32Array([0.5]));
  });
});

describe('a Float16Array of a replica', () => {
  const world = portableWorld(['cpu:0', 'cpu:1']);
  const both = <R>(call: (verbs: ReplicaVerbs, replica: number) => Promise<R>) => {
    const verbs = new ReplicaVerbs(new TestedAllReduce({ world }).replicaGroup);
    return Promise.all([0, 1].map((replica) => call(verbs, replica)));
  };

  it('comes back as the data of the results, in any structure', async () => {
    const structure = () => ({ a: [value(), Float32Array.of(1)], b: Uint16Array.of(1) });
    for (const result of await both((verbs, id) => verbs.allReduce(ReduceOp.SUM, structure(), id)))
      expect(result).toMatchObject({
        a: [{ data: twos }, { data: Float32Array.of(2) }],
        b: { data: Uint16Array.of(2) },
      });
    for (const result of await both((verbs, id) => verbs.allGather(value(), 0, id)))
      expect(result).toMatchObject({
        data: new Float16ArrayDouble([one, one, one, one]),
        dtype: 'float16',
        shape: [4],
      });
    for (const result of await both((verbs, id) => verbs.broadcast([value()], 1, id)))
      expect(result).toMatchObject([{ data: new Float16ArrayDouble([one, one]) }]);
    for (const sum of await both(async (verbs, id) => {
      const { results } = verbs.allReduceArriving(ReduceOp.SUM, [Promise.resolve(value())], id);
      return (results as readonly Promise<Tensor>[])[0];
    }))
      expect(sum).toMatchObject({ data: twos });
  });

  it('is the memory for the result if it is passed as such', async () => {
    const into = [halves(0, 0), halves(0, 0)];
    const results = await both((verbs, id) =>
      verbs.allReduce(ReduceOp.SUM, [value()], id, { into: [into[id] as never] }),
    );
    results.forEach((result, replica) => {
      expect((result as readonly Tensor[])[0]?.data).toBe(into[replica]);
    });
    expect(into).toEqual([twos, twos]);
    const bits = [new Uint16Array(2), new Uint16Array(2)];
    const memory = (id: number) => tensor(bits[id] as Uint16Array, { dtype: 'float16' });
    const [first] = await both((verbs, id) => verbs.allReduce(ReduceOp.SUM, value(), id, { into: memory(id) }));
    expect((first as Tensor).data).toBe(bits[0]);
  });

  it('comes back from cross-device ops', async () => {
    const ops = new TestedAllReduce();
    const devices = ['cpu:0', 'cpu:1'];
    const each = () => new PerReplica(devices.map((device) => ({ ...asTensor(value()), device })));
    const sum = await ops.reduce('SUM', each(), devices);
    expect('values' in sum && sum.values.map(({ data }) => data)).toEqual([twos, twos]);
    const arrays = new PerReplica([value(), value()]);
    const [batch] = await ops.batchReduce('SUM', [[arrays, 'cpu:0']]);
    expect(batch).toMatchObject({ data: twos });
    const into = halves(0, 0);
    expect(await ops.reduce('SUM', arrays, 'cpu:0', { into })).toMatchObject({ data: twos });
    expect(into).toEqual(twos);
    expect(await ops.gather(arrays, 'cpu:0', 0)).toMatchObject({ shape: [4], data: halves(one, one, one, one) });
    expect(await ops.broadcast(value(), devices)).toMatchObject({ values: Array(2).fill({ data: halves(one, one) }) });
    expect(await ops.reduce('SUM', value(), 'cpu:0')).toMatchObject({ data: halves(one, one) });
  });
});
