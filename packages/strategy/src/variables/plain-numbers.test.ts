import { describe, expect, it } from 'vitest';
import { MirroredStrategy, variable } from '../index.js';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });

/** Numbers outside of the range of each integer dtype, and its limits. */
const limits = [
  ['int8', -129, -128, 127, 128],
  ['int16', -(2 ** 15) - 1, -(2 ** 15), 2 ** 15 - 1, 2 ** 15],
  ['int32', -(2 ** 31) - 1, -(2 ** 31), 2 ** 31 - 1, 2 ** 31],
  ['int64', -(2 ** 63) - 2 ** 11, -(2 ** 63), 2 ** 63 - 2 ** 10, 2 ** 63],
  ['uint8', -1, 0, 255, 256],
  ['uint16', -1, 0, 2 ** 16 - 1, 2 ** 16],
  ['uint32', -1, 0, 2 ** 32 - 1, 2 ** 32],
  ['uint64', -1, 0, 2 ** 64 - 2 ** 11, 2 ** 64],
] as const;

describe.each(limits)('a variable of %s', (dtype, below, least, most, above) => {
  const refused = expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  const made = strategy.scope(() => ({
    local: variable(0, { dtype }),
    mirrored: variable(0, { dtype, aggregation: 'only_first_replica' }),
    counter: variable(0, { dtype, synchronization: 'on_read', aggregation: 'sum' }),
  }));

  it.each([1.5, Number.NaN, Infinity, below, above])('refuses %d', async (number) => {
    expect(() => strategy.scope(() => variable([0, number], { dtype }))).toThrow(refused);
    expect(() => variable(number, { dtype })).toThrow(refused);
    for (const each of Object.values(made)) {
      await expect(each.assign(number)).rejects.toEqual(refused);
      await expect(each.assign([number])).rejects.toEqual(refused);
      expect(() => each.assignSync(number)).toThrow(refused);
      await expect(strategy.run(() => each.assignAdd(number))).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    }
    await expect(made.local.assignSub(number)).rejects.toEqual(refused);
  });

  it('accepts the limits of its range', async () => {
    for (const number of [least, most]) {
      await made.mirrored.assign(number);
      expect(Number(made.mirrored.read().data[0])).toBe(number);
      await made.counter.assign(number);
      expect(Number(made.counter.read().data[0])).toBe(number);
    }
  });
});

it('the error names the variable, the range and the number', async () => {
  const steps = variable(0, { dtype: 'uint16', name: 'steps' });
  await expect(steps.assign(1.5)).rejects.toMatchObject({
    message: 'assign of variable "steps": uint16 values must be integers from 0 to 65535, got 1.5',
  });
  expect(() => variable(-1, { dtype: 'uint8', name: 'steps' })).toThrow(
    'variable "steps": uint8 values must be integers from 0 to 255, got -1',
  );
});

it('float and bool variables accept any number', async () => {
  for (const dtype of ['float16', 'bfloat16', 'float32', 'float64', 'bool'] as const)
    for (const number of [1.5, Number.NaN]) await variable(0, { dtype }).assign(number);
});
