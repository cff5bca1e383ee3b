import { tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { distributedTraits, initialTensor, traitsOf } from './variable-options.js';

const floats = tensor(Float32Array.of(1, 2));

describe('traitsOf', () => {
  it('applies defaults, and accepts names of synchronization and aggregation in any letter case', () => {
    const shared = { dtype: 'float32', shape: [2] };
    expect(traitsOf(floats, {})).toEqual({
      ...shared,
      ...{ name: 'Variable', trainable: true, synchronization: 'AUTO', aggregation: 'NONE' },
    });
    const options = { name: 'w', synchronization: 'on_read', aggregation: 'Only_First_Replica' as never } as const;
    expect(traitsOf(floats, options)).toEqual({
      ...shared,
      ...{ name: 'w', trainable: false, synchronization: 'ON_READ', aggregation: 'ONLY_FIRST_REPLICA' },
    });
    expect(traitsOf(floats, { synchronization: 'ON_READ', trainable: true }).trainable).toBe(true);
    expect(Object.isFrozen(traitsOf(floats, {}).shape)).toBe(true);
  });

  it.each([
    [{ name: 5 }, 'the name of a variable must be a string, got 5'],
    [
      { name: 'w', aggregation: ['SUM'] },
      'variable "w": aggregation must be one of NONE, SUM, MEAN, ONLY_FIRST_REPLICA',
    ],
    [{ aggregation: 'toString' }, 'variable "Variable": aggregation must be one of NONE, SUM, MEAN'],
    [
      { synchronization: 5 },
      'variable "Variable": synchronization must be one of AUTO, NONE, ON_WRITE, ON_READ, got 5',
    ],
    [{ synchronization: 'never' }, 'synchronization must be one of AUTO, NONE, ON_WRITE, ON_READ, got "never"'],
  ])('refuses the options %j', (options, message) => {
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', message: expect.stringContaining(message) };
    expect(() => traitsOf(floats, options as never)).toThrow(expect.objectContaining(refused));
  });
});

describe('distributedTraits', () => {
  it('synchronizes on write by default', () => {
    expect(distributedTraits(floats, {}).synchronization).toBe('ON_WRITE');
    expect(distributedTraits(floats, { synchronization: 'ON_READ' }).synchronization).toBe('ON_READ');
    expect(distributedTraits(floats, { aggregation: 'MEAN' }).aggregation).toBe('MEAN');
    expect(distributedTraits(tensor(Int8Array.of(1)), { aggregation: 'SUM' }).aggregation).toBe('SUM');
  });

  it.each([
    [
      floats,
      { name: 'w', synchronization: 'NONE' },
      'variable "w": a variable of several replicas cannot have synchronization NONE',
    ],
    [
      tensor(Int8Array.of(1)),
      { name: 'w', aggregation: 'MEAN' },
      'variable "w": aggregation MEAN is not defined for int8: choose',
    ],
  ] as const)('refuses options that replicas do not support: %j, %j', (initial, options, message) => {
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', message: expect.stringContaining(message) };
    expect(() => distributedTraits(initial, options)).toThrow(expect.objectContaining(refused));
  });
});

describe('initialTensor', () => {
  it('converts plain values to the requested dtype, and accepts tensors of this dtype', () => {
    expect(initialTensor([1, 2], {})).toMatchObject({ dtype: 'float64', shape: [2] });
    expect(initialTensor(3, { dtype: 'int16' })).toMatchObject({ dtype: 'int16', shape: [] });
    expect(initialTensor(Float32Array.of(1), {})).toMatchObject({ dtype: 'float32' });
    expect(initialTensor(floats, {})).toBe(floats);
    expect(initialTensor(floats, { dtype: 'float32' })).toBe(floats);
  });

  it.each([
    [[1], { name: 'w', dtype: 'float99' }, 'variable "w": unknown dtype "float99"'],
    [[1], { dtype: null }, 'variable "Variable": unknown dtype null'],
    [floats, { name: 'w', dtype: 'int8' }, 'variable "w" of int8 cannot start with a tensor of float32'],
    ['text', { name: 'w' }, 'the initial value of variable "w"'],
  ])('refuses the initial value %j with the options %j', (value, options, message) => {
    expect(() => initialTensor(value as never, options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^ERR_COLL_/), message: expect.stringContaining(message) }),
    );
  });
});
