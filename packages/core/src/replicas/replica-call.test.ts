import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { CommunicationOptions } from '../collectives/communication-options.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { tensor } from '../values/tensor.js';
import { broadcastCall, gatherCall, reduceCall, requireLocal } from './replica-call.js';

const slices = new IndexedSlices(tensor([1]), new Int32Array(1));
const { signal } = new AbortController();

describe('reduceCall', () => {
  it('flattens a structure of values from left to right', () => {
    const call = reduceCall('SUM', { a: [Float32Array.of(1), 2], b: slices }, undefined, '');
    expect(call.values).toEqual([tensor(Float32Array.of(1)), tensor(2), slices]);
    expect([call.into, call.options]).toEqual([undefined, { options: new CommunicationOptions(), signal: undefined }]);
    expect([call.name, call.form]).toEqual(['all-reduce SUM', '{a: [2], b}']);
  });

  it('reads options and their fields, including `into` memory', () => {
    const into = [Float32Array.of(0)];
    const call = reduceCall('MEAN', [Float32Array.of(1)], { bytesPerPack: 8, timeoutSeconds: 2, signal, into }, '');
    expect(call.into).toEqual([tensor(Float32Array.of(0))]);
    expect(call.into?.[0]?.data).toBe(into[0]);
    expect(call.options).toEqual({ options: new CommunicationOptions({ bytesPerPack: 8, timeoutSeconds: 2 }), signal });
    const options = new CommunicationOptions({ bytesPerPack: 9 });
    expect(reduceCall('SUM', 1, options, '').options).toEqual({ options, signal: undefined });
  });

  it.each<readonly [string, unknown[], string]>([
    ['options', ['sum', 'x', { bytesPerPack: -1 }, ''], 'bytesPerPack'],
    ['the op', ['sum', 'x', undefined, ''], '"sum" is not a reduce op'],
    ['values', ['SUM', [1, 'x'], undefined, ''], 'value must be a tensor'],
    [
      'that into and sharedResult exclude each other',
      ['SUM', 1, { into: Float64Array.of(0), sharedResult: true }, ''],
      'not both',
    ],
    ['the into memory', ['SUM', 1, { into: 'x' }, ''], 'into must be a tensor'],
  ])('validates %s', (_, args, message) => {
    expect(thrown(() => reduceCall(...(args as Parameters<typeof reduceCall>)))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(message),
    });
  });
});

describe('reduceCall for values that the op does not support', () => {
  it.each<readonly [string, Parameters<typeof reduceCall>]>([
    ['the mean of bool', ['MEAN', tensor([1], { dtype: 'bool' }), undefined, '']],
    ['the maximum of slices', ['MAX', [slices], undefined, '']],
  ])('refuses %s', (_, args) => {
    expect(thrown(() => reduceCall(...args))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
  });
});

describe('gatherCall and broadcastCall', () => {
  it('accept dense values', () => {
    const one = Float32Array.of(1);
    const values = [tensor(1), tensor(2)].map((value) => ({ ...value, device: 'cpu:1' }));
    expect(gatherCall([one], 0, { timeoutSeconds: 1 }, 'cpu:1')).toMatchObject({
      request: { kind: 'all-gather', axis: 0 },
      values: [{ ...tensor(one), device: 'cpu:1' }],
      options: { options: { timeoutSeconds: 1 } },
    });
    expect(broadcastCall([1, [2]], 1, 2, undefined, 'cpu:1')).toMatchObject({
      request: { kind: 'broadcast', root: 1 },
      values,
    });
  });

  it('refuse sparse values', () => {
    for (const call of [() => gatherCall([slices], 0, undefined, ''), () => broadcastCall(slices, 0, 1, undefined, '')])
      expect(thrown(call)).toMatchObject({ name: 'NotImplementedError', code: 'ERR_COLL_NOT_IMPLEMENTED' });
  });

  it.each([-1, 1, '0'])('refuse axis %s of a tensor with one axis', (axis) => {
    const call = () => gatherCall(Float32Array.of(1), axis as number, undefined, '');
    expect(thrown(call)).toMatchObject({ code: 'ERR_COLL_RANGE' });
  });

  it.each([-1, 2, 0.5])('refuse root %s of two replicas', (root) => {
    const error = { code: 'ERR_COLL_REFUSED', message: expect.stringContaining('2 replicas') };
    expect(thrown(() => broadcastCall(1, root, 2, undefined, ''))).toMatchObject(error);
  });
});

it('requireLocal refuses replicas of other processes', () => {
  expect(() => requireLocal(1, [0, 1])).not.toThrow();
  const error = thrown(() => requireLocal(2, [0, 1]));
  expect(error).toBeInstanceOf(RangeError);
  expect(error).toMatchObject({
    code: 'ERR_COLL_RANGE',
    operation: 'all-reduce',
    message: 'all-reduce: replica 2 is not in this process, which has replica 0, 1',
  });
});
