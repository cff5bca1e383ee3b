import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { AssertionError } from '../support/errors.js';
import {
  allDevicesMatch,
  type Destinations,
  devicesMatch,
  getDevicesFrom,
  requireDistinct,
  validateDestinations,
} from './destinations.js';
import { canonicalize } from './device.js';
import { Mirrored, PerReplica } from './distributed-values.js';
import { IndexedSlices } from './indexed-slices.js';
import { type Tensor, tensor, tensorSymbol } from './tensor.js';

const cpu0 = canonicalize('cpu:0');
const cpu1 = canonicalize('cpu:1');

function on(device: string): Tensor {
  return tensor([1, 2], { device });
}

function slicesOn(device: string): IndexedSlices {
  return new IndexedSlices(on(device), new Int32Array([0, 1]));
}

function perReplica(...devices: readonly string[]): PerReplica<Tensor> {
  return new PerReplica(devices.map(on));
}

describe('validateDestinations', () => {
  it.each<readonly [string, Destinations]>([
    ['a device', 'cpu:0'],
    ['a list of devices', ['cpu:0', 'cpu:1']],
    ['a tensor', on('cpu:0')],
    ['indexed slices', slicesOn('cpu:0')],
    ['a per-replica value', perReplica('cpu:0', 'cpu:1')],
    ['a mirrored value', new Mirrored([on('cpu:0'), on('cpu:1')])],
    ['an object that carries a tensor, like a variable', { [tensorSymbol]: () => on('cpu:1') }],
    ['a value with two components on one device', perReplica('cpu:0', 'cpu:0')],
  ])('accepts %s', (_, destinations) => {
    expect(() => validateDestinations(destinations)).not.toThrow();
  });

  it.each([
    ['a number', 1],
    ['null', null],
    ['undefined', undefined],
    ['an object', { device: 'cpu:0' }],
    ['a list of tensors', [on('cpu:0')]],
    ['a function', () => 'cpu:0'],
    ['a list without items', new Array(2)],
  ])('refuses %s', (_, destinations) => {
    expect(thrown(() => validateDestinations(destinations))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_DESTINATION',
      message: expect.stringContaining('destinations must be a device, a list of devices'),
    });
  });

  it.each([
    ['an empty string', ''],
    ['an empty list', []],
    ['a list with an empty string', ['cpu:0', '']],
    ['a tensor without a device', on('')],
    ['a plain tensor object without a device', { data: new Float32Array(1), dtype: 'float32', shape: [1] }],
    ['a bare typed array', new Float32Array(2)],
    ['slices without a device', slicesOn('')],
    ['a value without components', new PerReplica([])],
    ['a value with a component that has no device', perReplica('cpu:0', '')],
  ])('refuses the empty destinations %s', (_, destinations) => {
    expect(thrown(() => validateDestinations(destinations))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_DESTINATION',
      message: expect.stringContaining('must not be empty'),
    });
  });

  it('refuses a string that is not a device', () => {
    expect(thrown(() => validateDestinations('here'))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_DEVICE' });
  });

  it('refuses a tensor whose device is not a string', () => {
    const odd = { ...on('cpu:0'), device: 5 };
    expect(thrown(() => validateDestinations(odd))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_DEVICE' });
  });

  it('refuses a list that contains a device twice, in any spelling', () => {
    const error = thrown(() => validateDestinations(['cpu:0', '/device:CPU:0']));
    expect(error).toBeInstanceOf(AssertionError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_DEVICE',
      message: expect.stringContaining(`${cpu0} is listed twice`),
    });
  });
});

describe('getDevicesFrom', () => {
  it('returns full device names, but leaves those of distributed values unchanged', () => {
    expect(getDevicesFrom('cpu:1')).toEqual([cpu1]);
    expect(getDevicesFrom(['cpu:1', 'cpu:0'])).toEqual([cpu1, cpu0]);
    expect(getDevicesFrom(on('cpu:1'))).toEqual([cpu1]);
    expect(getDevicesFrom(slicesOn('cpu:1'))).toEqual([cpu1]);
    expect(getDevicesFrom(perReplica('cpu:1', cpu0))).toEqual(['cpu:1', cpu0]);
  });
});

describe('devicesMatch', () => {
  it('compares sets of devices: order, repetition and spelling do not matter', () => {
    expect(devicesMatch(perReplica('cpu:0', 'cpu:1'), ['cpu:1', 'cpu:0'])).toBe(true);
    expect(devicesMatch(perReplica('cpu:0', 'cpu:0'), 'cpu:0')).toBe(true);
    expect(devicesMatch('cpu:0', '/job:localhost/cpu:0')).toBe(true);
  });

  it('is false for a subset of the devices', () => {
    expect(devicesMatch(perReplica('cpu:0', 'cpu:1'), 'cpu:0')).toBe(false);
    expect(devicesMatch('cpu:0', ['cpu:0', 'cpu:1'])).toBe(false);
    expect(devicesMatch('cpu:0', 'cpu:1')).toBe(false);
  });

  it('is true for the same object, whatever its devices', () => {
    const value = perReplica('nowhere');
    expect(devicesMatch(value, value)).toBe(true);
  });

  it('is symmetric', () => {
    const lists = fc.uniqueArray(fc.constantFrom('cpu:0', 'cpu:1', 'CPU:1', cpu0, 'gpu:0'), { minLength: 1 });
    fc.assert(
      fc.property(lists, lists, (left, right) => {
        const sets = [left, right].map((names) => [...new Set(names.map((name) => canonicalize(name)))].sort().join());
        expect(devicesMatch(left, right)).toBe(sets[0] === sets[1]);
        expect(devicesMatch(right, left)).toBe(sets[0] === sets[1]);
      }),
    );
  });
});

it('destinations may be an object that carries a tensor', () => {
  const variable = { [tensorSymbol]: () => on('cpu:1') };
  expect(getDevicesFrom(variable)).toEqual([cpu1]);
  expect(devicesMatch(variable, 'cpu:1')).toBe(true);
  expect(thrown(() => validateDestinations({ [tensorSymbol]: () => on('') }))).toMatchObject({
    code: 'ERR_COLL_DESTINATION',
    message: expect.stringContaining('must not be empty'),
  });
});

describe('allDevicesMatch', () => {
  const value = perReplica('cpu:0', 'cpu:1');

  it('is true for an empty batch', () => {
    expect(allDevicesMatch([])).toBe(true);
  });

  it('requires that the devices of every value match its destinations', () => {
    expect(allDevicesMatch([[value, value]])).toBe(true);
    expect(allDevicesMatch([[value, 'cpu:0']])).toBe(false);
  });

  it('requires that the devices of every value match those of the first value', () => {
    const elsewhere = perReplica('cpu:0');
    expect(
      allDevicesMatch([
        [value, value],
        [perReplica('cpu:1', 'cpu:0'), value],
      ]),
    ).toBe(true);
    expect(
      allDevicesMatch([
        [value, value],
        [elsewhere, elsewhere],
      ]),
    ).toBe(false);
  });
});

it('requireDistinct names the device that a list contains twice', () => {
  expect(() => requireDistinct([cpu0, cpu1])).not.toThrow();
  expect(thrown(() => requireDistinct([cpu0, cpu1, cpu1]))).toMatchObject({
    name: 'AssertionError',
    message: expect.stringContaining(cpu1),
  });
});
