import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { CommunicationOptions } from '../communication-options.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { tensor } from '../tensor.js';
import { prepare, prepareDense, requireLocal } from './replica-call.js';

const slices = new IndexedSlices(tensor([1]), new Int32Array(1));
const { signal } = new AbortController();

describe('prepare', () => {
  it('takes a structure of values apart, from left to right', () => {
    const call = prepare('SUM', { a: [Float32Array.of(1), 2], b: slices }, undefined);
    expect(call.values).toEqual([tensor(Float32Array.of(1)), tensor(2), slices]);
    expect([call.into, call.bytesPerPack, call.run]).toEqual([undefined, 0, { timeoutSeconds: null }]);
  });

  it('reads options and their fields, with the memory for results among them', () => {
    const into = [Float32Array.of(0)];
    const call = prepare('MEAN', [1], { bytesPerPack: 8, timeoutSeconds: 2, signal, into });
    expect(call.into).toEqual([tensor(Float32Array.of(0))]);
    expect(call.into?.[0]?.data).toBe(into[0]);
    expect([call.bytesPerPack, call.run]).toEqual([8, { timeoutSeconds: 2, signal }]);
    const options = new CommunicationOptions({ bytesPerPack: 9 });
    expect(prepare('SUM', 1, options).resolved).toEqual({ options, signal: undefined });
  });

  it.each<readonly [string, unknown[], string]>([
    ['options', ['sum', 'x', { bytesPerPack: -1 }], 'bytesPerPack'],
    ['the op', ['sum', 'x'], '"sum" is not a reduce op'],
    ['values', ['SUM', [1, 'x']], 'value must be a tensor'],
    [
      'that results do not go to two places',
      ['SUM', 1, { into: Float64Array.of(0), sharedResult: true }],
      'both given',
    ],
    ['the memory for results', ['SUM', 1, { into: 'x' }], 'into must be a tensor'],
  ])('checks %s', (_, args, message) => {
    expect(thrown(() => prepare(...(args as Parameters<typeof prepare>)))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(message),
    });
  });
});

describe('prepareDense', () => {
  it('takes dense values', () => {
    expect(prepareDense([1, [2]], { timeoutSeconds: 1 })).toMatchObject({
      values: [tensor(1), tensor(2)],
      run: { timeoutSeconds: 1 },
    });
  });

  it('refuses sparse ones', () => {
    expect(thrown(() => prepareDense([tensor([1]), slices], undefined))).toMatchObject({
      name: 'NotImplementedError',
      code: 'ERR_COLL_NOT_IMPLEMENTED',
    });
  });
});

it('knows the replicas that a caller holds', () => {
  expect(() => requireLocal(1, [0, 1])).not.toThrow();
  const error = thrown(() => requireLocal(2, [0, 1]));
  expect(error).toBeInstanceOf(RangeError);
  expect(error).toMatchObject({
    code: 'ERR_COLL_RANGE',
    operation: 'all-reduce',
    message: 'all-reduce: replica 2 does not live here, where replica 0, 1 does',
  });
});
