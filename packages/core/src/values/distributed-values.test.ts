import { afterEach, describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { findCurrentReplica } from '../replicas/current-replica.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { containerSymbol, DistributedValues, Mirrored, PerReplica } from './distributed-values.js';
import { asTensor, tensor, tensorSymbol } from './tensor.js';

afterEach(() => findCurrentReplica(() => undefined));

const [a, b] = [tensor([1], { device: 'cpu:0' }), tensor([2], { device: '/device:CPU:1' })];

describe.each([
  ['PerReplica', PerReplica],
  ['Mirrored', Mirrored],
] as const)('%s', (name, Class) => {
  it('keeps its components in order, and no later change of the list', () => {
    const list = [a, b];
    const value = new Class(list);
    list.push(a);
    expect(value.values).toEqual([a, b]);
    expect(() => (value.values as unknown[]).push(a)).toThrow(TypeError);
  });

  it('shows the devices of its components as they say them', () => {
    const slices = new IndexedSlices(a, new Int32Array(1));
    expect(new Class([a, b, slices, 5, new Float32Array(1), null]).devices).toEqual([
      'cpu:0',
      '/device:CPU:1',
      'cpu:0',
      '',
      '',
      '',
    ]);
  });

  it('has its first component as primary', () => {
    expect(new Class([a, b]).primary).toBe(a);
    expect(new Class([]).primary).toBeUndefined();
  });

  it('tells its kind and its components as text', () => {
    expect(`${new Class([1, 'two', a])}`).toBe(
      `${name}:{\n  0: 1,\n  1: "two",\n  2: float64 tensor of shape [1] on cpu:0\n}`,
    );
  });

  it('refuses what is no list', () => {
    expect(thrown(() => new Class(a as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: `${name} takes a list of components, got float64 tensor of shape [1] on cpu:0`,
    });
  });

  it('knows values of a separately installed copy of the library', async () => {
    vi.resetModules();
    const other = await import('./distributed-values.js');
    const value = new other[name]([a]);
    expect(other[name]).not.toBe(Class);
    expect([value instanceof Class, value instanceof DistributedValues]).toEqual([true, true]);
  });

  it('tells a class of its own from the one that it extends', () => {
    class Variable extends Class<unknown> {}
    expect(new Variable([a])).toBeInstanceOf(Variable);
    expect(new Variable([a])).toBeInstanceOf(Class);
    expect(new Class([a])).not.toBeInstanceOf(Variable);
  });
});

it('tells the kinds apart, and both from anything else', () => {
  const [perReplica, mirrored] = [new PerReplica([a]), new Mirrored([a])];
  const others = [a, [a, b], { values: [a] }, undefined, null, 'PerReplica'];
  expect([perReplica instanceof Mirrored, mirrored instanceof PerReplica]).toEqual([false, false]);
  expect(others.filter((value) => value instanceof DistributedValues)).toEqual([]);
});

it('tells other kinds of distributed values from the two, by their own classes', () => {
  abstract class Sharded extends DistributedValues {}
  expect(new PerReplica([a])).toBeInstanceOf(DistributedValues);
  expect(new PerReplica([a])).not.toBeInstanceOf(Sharded);
});

it('is no tensor while values differ', () => {
  expect(thrown(() => new PerReplica([a, b])[tensorSymbol]())).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_CONTEXT',
    message: expect.stringContaining('strategy.run'),
  });
  expect(() => asTensor(new PerReplica([a]))).toThrow('a PerReplica cannot be used as one tensor');
});

it('is its first component as a tensor when mirrored', () => {
  expect(asTensor(new Mirrored([a, b]))).toBe(a);
});

describe('where code runs', () => {
  const inReplica = (replica: number | undefined) => findCurrentReplica(() => replica);
  const [perReplica, mirrored] = [new PerReplica([a, b]), new Mirrored([a, b])];

  it('a replica has its component', () => {
    inReplica(1);
    expect([perReplica.get(), perReplica.getOnDeviceOrPrimary('cpu:0'), asTensor(perReplica)]).toEqual([b, b, b]);
    expect([mirrored.get(), mirrored.getOnDeviceOrPrimary('cpu:0'), asTensor(mirrored)]).toEqual([b, b, b]);
  });

  it('a replica without a component is told so', () => {
    inReplica(2);
    for (const value of [perReplica, mirrored])
      expect(thrown(() => value.get())).toMatchObject({ name: 'RangeError', code: 'ERR_COLL_RANGE', rank: 2 });
  });

  it('outside of replicas no component stands for all where they differ', () => {
    expect(thrown(() => perReplica.get())).toMatchObject({ name: 'NotImplementedError' });
    expect(thrown(() => asTensor(perReplica))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_CONTEXT' });
  });

  it('outside of replicas a component on the device is taken, or else the first', () => {
    expect([perReplica.getOnDeviceOrPrimary('CPU:1'), mirrored.getOnDeviceOrPrimary('cpu:1')]).toEqual([b, b]);
    expect([mirrored.getOnDeviceOrPrimary('gpu:1'), mirrored.get()]).toEqual([a, a]);
    const elsewhere = new Mirrored([b, a]);
    expect([elsewhere.get(), asTensor(elsewhere), elsewhere.primary]).toEqual([a, a, b]);
  });

  it('the replica is what was told last', () => {
    inReplica(1);
    inReplica(undefined);
    expect(mirrored.get()).toBe(a);
  });
});

it('tells whether it is mirrored, and that it is no variable', () => {
  const values = [new PerReplica([a]), new Mirrored([a])];
  expect(values.map(({ isMirrored, isVariable }) => [isMirrored, isVariable])).toEqual([
    [false, false],
    [true, false],
  ]);
});

it('lets components of variables tell themselves', () => {
  const component = { [containerSymbol]: new Mirrored([a]), toString: () => 'the variable' };
  expect(`${new PerReplica([component])}`).toBe('PerReplica:{\n  0: the variable\n}');
});
