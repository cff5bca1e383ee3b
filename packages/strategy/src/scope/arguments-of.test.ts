import { IndexedSlices, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { getStrategy } from '../index.js';
import { argumentsOf } from './run-options.js';

describe('the options of run', () => {
  it('are passed to the function as args, followed by kwargs', () => {
    expect(argumentsOf({})).toEqual([]);
    expect(argumentsOf({ args: [1, 2] })).toEqual([1, 2]);
    expect(argumentsOf({ args: [1], kwargs: { rate: 2 } })).toEqual([1, { rate: 2 }]);
    expect(argumentsOf({ kwargs: { rate: 2 }, onReport: () => {}, signal: new AbortController().signal })).toEqual([
      { rate: 2 },
    ]);
  });

  it.each([
    [[1, 2], 'run: pass the arguments by name, { args: [1, 2] }'],
    [{ args: 5 }, 'run: positional args must be a list: { args: [first, second] }'],
    [{ kwargs: 5 }, 'run: kwargs must be an object: { kwargs: { name: value } }'],
    [{ kwargs: [1] }, 'run: kwargs must be an object: { kwargs: { name: value } }'],
    [{ onReport: 5 }, 'run: onReport'],
    [{ signal: 5 }, 'signal'],
    [{ threads: 'new' }, `run: threads must be 'kept' or 'own', got "new"`],
    [{ transfer: 1 }, 'run: transfer must be true or false, got 1'],
  ])('are refused if invalid: %j', (options, message) => {
    expect(() => argumentsOf(options as never)).toThrow(
      expect.objectContaining({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining(message),
      }),
    );
  });
});

it('scope() refuses an argument that is not a function', () => {
  for (const strategy of [strategyOf(1), getStrategy()])
    expect(() => strategy.scope(5 as never)).toThrow(
      expect.objectContaining({ name: 'ValueError', message: expect.stringContaining('scope: code') }),
    );
});

describe('the mean of a single value', () => {
  const two = strategyOf(2);

  it('is the value itself for floats, bools and slices', async () => {
    const bool = tensor(Uint8Array.of(1, 0), { dtype: 'bool' });
    expect(await two.reduce('MEAN', bool, null)).toBe(bool);
    const slices = new IndexedSlices(tensor(Float32Array.of(1)), Int32Array.of(0), [4]);
    expect(await two.reduce('MEAN', slices, null)).toBe(slices);
    const floats = Float32Array.of(1, 2);
    expect(await two.reduce('MEAN', floats, null)).toBe(floats);
  });

  it('is a float for integers', async () => {
    expect(await two.reduce('MEAN', Int8Array.of(1, 2), null)).toMatchObject({ dtype: 'float32', shape: [2] });
  });
});
