import { afterEach, describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { findCurrentReplica } from './current-replica.js';
import { containerSymbol, DistributedValues, Mirrored, PerReplica } from './distributed-values.js';
import { IndexedSlices } from './indexed-slices.js';
import { asTensor, tensor, tensorSymbol } from './tensor.js';

afterEach(() => findCurrentReplica(() => undefined));

const [a, b] = [tensor([1], { device: 'cpu:0' }), tensor([2], { device: '/device:CPU:1' })];

describe.each([
  ['PerReplica', PerReplica],
  ['Mirrored', Mirrored],
] as const)('a value of the class %s', (name, Class) => {
  it('keeps its components in order, unaffected by later changes of the list', () => {
    const list = [a, b];
    const value = new Class(list);
    list.push(a);
    expect(value.values).toEqual([a, b]);
    expect(() => (value.values as unknown[]).push(a)).toThrow(TypeError);
  });

  it('returns the devices of its components unchanged', () => {
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

  it('returns its first component as primary', () => {
    expect(new Class([a, b]).primary).toBe(a);
    expect(new Class([]).primary).toBeUndefined();
  });

  it('prints its kind and its components', () => {
    expect(`${new Class([1, 'two', a])}`).toBe(
      `${name}:{\n  0: 1,\n  1: "two",\n  2: float64 tensor of shape [1] on cpu:0\n}`,
    );
  });

  it('must be created from a list', () => {
    expect(thrown(() => new Class(a as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: `${name} takes a list of components, got float64 tensor of shape [1] on cpu:0`,
    });
  });

  it('is recognised by instanceof even if it is from a separately installed copy of the library', async () => {
    vi.resetModules();
    const other = await import('./distributed-values.js');
    const value = new other[name]([a]);
    expect(other[name]).not.toBe(Class);
    expect([value instanceof Class, value instanceof DistributedValues]).toEqual([true, true]);
  });

  it('is not an instance of a subclass of its class', () => {
    class Variable extends Class<unknown> {}
    expect(new Variable([a])).toBeInstanceOf(Variable);
    expect(new Variable([a])).toBeInstanceOf(Class);
    expect(new Class([a])).not.toBeInstanceOf(Variable);
  });
});

it('instanceof PerReplica and instanceof Mirrored are true only for values of the same class', () => {
  const [perReplica, mirrored] = [new PerReplica([a]), new Mirrored([a])];
  const others = [a, [a, b], { values: [a] }, undefined, null, 'PerReplica'];
  expect([perReplica instanceof Mirrored, mirrored instanceof PerReplica]).toEqual([false, false]);
  expect(others.filter((value) => value instanceof DistributedValues)).toEqual([]);
});

it('a PerReplica is an instance of DistributedValues, but not of another subclass', () => {
  abstract class Sharded extends DistributedValues {}
  expect(new PerReplica([a])).toBeInstanceOf(DistributedValues);
  expect(new PerReplica([a])).not.toBeInstanceOf(Sharded);
});

it('a PerReplica with different values cannot be used as a tensor', () => {
  expect(thrown(() => new PerReplica([a, b])[tensorSymbol]())).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_CONTEXT',
    message: expect.stringContaining('strategy.run'),
  });
  expect(() => asTensor(new PerReplica([a]))).toThrow('a PerReplica cannot be used as one tensor');
});

it('a Mirrored is its first component when used as a tensor', () => {
  expect(asTensor(new Mirrored([a, b]))).toBe(a);
});

describe('a distributed value used as a tensor', () => {
  const inReplica = (replica: number | undefined) => findCurrentReplica(() => replica);
  const [perReplica, mirrored] = [new PerReplica([a, b]), new Mirrored([a, b])];

  it("is the replica's component inside a replica", () => {
    inReplica(1);
    expect([perReplica.get(), perReplica.getOnDeviceOrPrimary('cpu:0'), asTensor(perReplica)]).toEqual([b, b, b]);
    expect([mirrored.get(), mirrored.getOnDeviceOrPrimary('cpu:0'), asTensor(mirrored)]).toEqual([b, b, b]);
  });

  it('throws inside a replica that has no component', () => {
    inReplica(2);
    for (const value of [perReplica, mirrored])
      expect(thrown(() => value.get())).toMatchObject({ name: 'RangeError', code: 'ERR_COLL_RANGE', rank: 2 });
  });

  it('throws outside replicas if the components differ', () => {
    expect(thrown(() => perReplica.get())).toMatchObject({ name: 'NotImplementedError' });
    expect(thrown(() => asTensor(perReplica))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_CONTEXT' });
  });

  it('is, outside replicas, the component on the requested device, or else the first component', () => {
    expect([perReplica.getOnDeviceOrPrimary('CPU:1'), mirrored.getOnDeviceOrPrimary('cpu:1')]).toEqual([b, b]);
    expect([mirrored.getOnDeviceOrPrimary('gpu:1'), mirrored.get()]).toEqual([a, a]);
    const elsewhere = new Mirrored([b, a]);
    expect([elsewhere.get(), asTensor(elsewhere), elsewhere.primary]).toEqual([a, a, b]);
  });

  it('uses the current replica that was set last', () => {
    inReplica(1);
    inReplica(undefined);
    expect(mirrored.get()).toBe(a);
  });
});

it('isMirrored is true for a Mirrored only, and isVariable is false for both Mirrored and PerReplica', () => {
  const values = [new PerReplica([a]), new Mirrored([a])];
  expect(values.map(({ isMirrored, isVariable }) => [isMirrored, isVariable])).toEqual([
    [false, false],
    [true, false],
  ]);
});

it('a distributed value prints a component of a variable by the toString method of the component', () => {
  const component = { [containerSymbol]: new Mirrored([a]), toString: () => 'the variable' };
  expect(`${new PerReplica([component])}`).toBe('PerReplica:{\n  0: the variable\n}');
});
