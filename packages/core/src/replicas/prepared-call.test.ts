import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { CommunicationOptions } from '../collectives/communication-options.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { arrivingCall, reduceCall } from './replica-call.js';

const slices = new IndexedSlices(Float32Array.of(1), Int32Array.of(0));
const promises = [Promise.resolve(1), { w: Promise.resolve(2) }];
const memory = [zeros('float64', []), zeros('float64', [1])] as const;

describe('arrivingCall', () => {
  it('converts each arriving value to a tensor on the device of the replica', () => {
    const call = arrivingCall(ReduceOp.SUM, promises, undefined, 'cpu:1');
    expect(call.leaves).toEqual([promises[0], (promises[1] as { w: unknown }).w]);
    expect(call.ready(0, tensor([1, 2]))).toEqual(tensor([1, 2], { device: 'cpu:1' }));
    expect(arrivingCall(ReduceOp.SUM, promises, undefined, '').ready(0, 3)).toEqual(tensor(3));
    expect(thrown(() => call.ready(1, 'text'))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });

  it('keeps bytesPerPack for later values, and puts values that arrived together into one pack', () => {
    const call = arrivingCall(ReduceOp.SUM, promises, { options: new CommunicationOptions({ bytesPerPack: 64 }) }, '');
    expect(call.bytesPerPack).toBe(64);
    expect(call.callFor([0], [tensor(1)])).toMatchObject({
      options: { options: { bytesPerPack: Number.MAX_SAFE_INTEGER } },
      name: 'all-reduce SUM of values 0 of 2',
      announced: [2, 0],
    });
  });

  it('returns the signal of the options', () => {
    const { signal } = new AbortController();
    expect(arrivingCall(ReduceOp.SUM, promises, { signal }, '').signal).toBe(signal);
  });

  it('returns the `into` memory of the dense values of a pack, in the order of the pack', () => {
    const { callFor } = arrivingCall(ReduceOp.SUM, promises, { into: memory }, '');
    const intoOf = (indices: readonly number[], values: readonly (Tensor | IndexedSlices)[]) =>
      callFor(indices, values).into;
    expect(intoOf([0, 1], [tensor(1), tensor([2])])).toEqual(memory);
    expect(intoOf([1, 0], [tensor([2]), slices])).toEqual([memory[1]]);
    expect(arrivingCall(ReduceOp.SUM, promises, undefined, '').callFor([0], [tensor(1)]).into).toBeUndefined();
  });

  it('refuses `into` memory for too few or too many results, or the same memory twice', () => {
    for (const into of [[memory[0]], [memory[0], memory[1], tensor(1)], [memory[1], memory[1]]])
      expect(thrown(() => arrivingCall(ReduceOp.SUM, promises, { into }, ''))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_BUFFER',
      });
  });
});

describe('reduceCall', () => {
  it('uses the values themselves as `into` memory if the caller passes them as into', () => {
    const values = [tensor([1, 2])];
    expect(reduceCall(ReduceOp.SUM, values, { into: values }, '').into).toEqual(values);
    expect(reduceCall(ReduceOp.SUM, values, { into: values }, 'cpu:1').into?.[0]?.device).toBe('cpu:1');
  });

  it('returns results in the `into` memory and in the structure of the call', () => {
    const into = { w: Int32Array.of(0) };
    const call = reduceCall(ReduceOp.SUM, { w: Int32Array.of(1) }, { into }, 'cpu:1');
    const result = call.finish([tensor([5], { dtype: 'int32' })]) as { readonly w: Tensor };
    expect([result.w.data, into.w]).toEqual([into.w, Int32Array.of(5)]);
    expect(result.w.data).toBe(into.w);
  });
});
