import { PerReplica, type Tensor, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { placedDestinations, placedValues, requirePairs, strategyOp } from './placed-values.js';

const devices = ['/device:CPU:0', '/device:CPU:1'];
const at = (device: string) => tensor(Float32Array.of(1), { device });

describe('placedDestinations', () => {
  it.each<[string, unknown, readonly string[], unknown]>([
    ['a bare array, with one replica', Float32Array.of(1), ['cpu:3'], 'cpu:3'],
    ['a tensor without a device, with one replica', tensor(1), ['cpu:3'], 'cpu:3'],
    ['components without a device', new PerReplica([tensor(1), tensor(2)]), devices, devices],
    ['a component without a device', new PerReplica([at('gpu:7'), tensor(2)]), devices, ['gpu:7', devices[1]]],
  ])('assigns %s to the devices of replicas', (_, destinations, replicas, placed) => {
    expect(placedDestinations(destinations as never, replicas)).toEqual(placed);
  });

  it.each<[string, unknown, readonly string[]]>([
    ['a name', 'gpu:0', ['cpu:3']],
    ['a list', ['gpu:0', 'gpu:1'], devices],
    ['a tensor on a device, with one replica', at('gpu:7'), ['cpu:3']],
    ['a bare array, with two replicas', Float32Array.of(1), devices],
    ['components on devices', new PerReplica([at('gpu:7'), at('gpu:8')]), devices],
    ['fewer components than replicas', new PerReplica([tensor(1)]), devices],
    ['a function with a device field', Object.assign(() => 1, { device: '' }), ['cpu:3']],
  ])('does not change %s', (_, destinations, replicas) => {
    expect(placedDestinations(destinations as never, replicas)).toBe(destinations);
  });
});

describe('placedValues', () => {
  it('assigns components without a device to the device of their replica', () => {
    const { values } = placedValues(new PerReplica([at('gpu:7'), tensor(2), 3]), ['cpu:0', 'cpu:1', 'cpu:2']);
    expect(values.map((value) => (value as Tensor).device)).toEqual(['gpu:7', 'cpu:1', 'cpu:2']);
  });

  it('refuses a value whose number of components is not the number of replicas', () => {
    expect(() => placedValues(new PerReplica([1]), devices)).toThrow(
      expect.objectContaining({
        ...{ code: 'ERR_COLL_VALUE', operation: 'reduce' },
        message: 'a value of 1 components cannot be reduced over 2 replicas',
      }),
    );
  });
});

it.each(['NONE', 'ONLY_FIRST_REPLICA'])('strategyOp refuses the variable aggregation %s as a reduce op', (name) => {
  const refused = {
    name: 'AssertionError',
    code: 'ERR_COLL_VALUE',
    message: expect.stringMatching(`^${name} is a variable aggregation`),
  };
  expect(() => strategyOp(name as never)).toThrow(expect.objectContaining(refused));
});

describe('requirePairs', () => {
  it('accepts any iterable of pairs', () => {
    const pairs = new Map<unknown, unknown>([[1, 'cpu:0']]);
    expect(requirePairs(pairs)).toEqual([[1, 'cpu:0']]);
  });

  it.each([
    [null, 'batchReduceTo takes a list of [value, destinations] pairs, got null'],
    ['ab', 'batchReduceTo takes a list of [value, destinations] pairs, got "ab"'],
    [{}, 'batchReduceTo takes a list of [value, destinations] pairs, got an object (Object)'],
    [[[1, 'cpu:0'], [1]], 'a pair must be an array [value, destinations], got [1]'],
    [[[1, 'cpu:0', 2]], 'a pair must be an array [value, destinations], got [1, "cpu:0", 2]'],
    [['ab'], 'a pair must be an array [value, destinations], got "ab"'],
  ])('refuses %j', (pairs, message) => {
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'batch-reduce', message };
    expect(() => requirePairs(pairs)).toThrow(expect.objectContaining(refused));
  });
});
