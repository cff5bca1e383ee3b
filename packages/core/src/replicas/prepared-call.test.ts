import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { CommunicationOptions } from '../communication-options.js';
import { ReduceOp } from '../reduce-op.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { type Tensor, tensor, zeros } from '../tensor.js';
import { prepare, prepareArriving } from './replica-call.js';

const slices = new IndexedSlices(Float32Array.of(1), Int32Array.of(0));
const promises = [Promise.resolve(1), { w: Promise.resolve(2) }];
const memory = [zeros('float64', []), zeros('float64', [1])] as const;

describe('prepareArriving', () => {
  it('has one leaf for each value that will come, and places it on the device of the replica', () => {
    const call = prepareArriving(ReduceOp.SUM, promises, undefined, 'cpu:1');
    expect(call.leaves).toEqual([promises[0], (promises[1] as { w: unknown }).w]);
    expect(call.ready(0, tensor([1, 2]))).toEqual(tensor([1, 2], { device: 'cpu:1' }));
    expect(prepareArriving(ReduceOp.SUM, promises, undefined).ready(0, 3)).toEqual(tensor(3));
    expect(thrown(() => call.ready(1, 'text'))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });

  it('keeps the size of packs for the values that come, and puts those that have come in one pack', () => {
    const call = prepareArriving(ReduceOp.SUM, promises, { options: new CommunicationOptions({ bytesPerPack: 64 }) });
    expect(call.bytesPerPack).toBe(64);
    expect(call.optionsFor([0], [tensor(1)])).toMatchObject({ options: { bytesPerPack: Number.POSITIVE_INFINITY } });
  });

  it('hands on the signal', () => {
    const { signal } = new AbortController();
    expect(prepareArriving(ReduceOp.SUM, promises, { signal }).signal).toBe(signal);
  });

  it('names the memory of the dense values of a pack, in their order', () => {
    const { optionsFor } = prepareArriving(ReduceOp.SUM, promises, { into: memory });
    const intoOf = (indices: readonly number[], values: readonly (Tensor | IndexedSlices)[]) =>
      (optionsFor(indices, values) as { into?: readonly Tensor[] }).into;
    expect(intoOf([0, 1], [tensor(1), tensor([2])])).toEqual(memory);
    expect(intoOf([1, 0], [tensor([2]), slices])).toEqual([memory[1]]);
    expect(prepareArriving(ReduceOp.SUM, promises, undefined).optionsFor([0], [tensor(1)])).not.toHaveProperty('into');
  });

  it('refuses memory for another number of results, or for two results', () => {
    for (const into of [[memory[0]], [memory[0], memory[1], tensor(1)], [memory[1], memory[1]]])
      expect(thrown(() => prepareArriving(ReduceOp.SUM, promises, { into }))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_BUFFER',
      });
  });
});

describe('prepare', () => {
  it('waits without limit and has no signal unless the options say so', () => {
    const call = prepare(ReduceOp.SUM, [1], undefined);
    expect([call.run, call.into, call.deduplicate]).toEqual([{ timeoutSeconds: null }, undefined, false]);
    const { signal } = new AbortController();
    const limited = prepare(ReduceOp.SUM, [1], { signal, options: new CommunicationOptions({ timeoutSeconds: 5 }) });
    expect(limited.run).toEqual({ timeoutSeconds: 5, signal });
  });

  it('takes the values themselves for the memory of their results where both are the same', () => {
    const values = [tensor([1, 2])];
    expect(prepare(ReduceOp.SUM, values, { into: values }).into).toEqual(values);
    expect(prepare(ReduceOp.SUM, values, { into: values }, 'cpu:1').into?.[0]?.device).toBe('cpu:1');
  });

  it('refuses memory for results and one shared result together', () => {
    const values = [tensor([1, 2])];
    expect(thrown(() => prepare(ReduceOp.SUM, values, { into: values, sharedResult: true } as never))).toMatchObject({
      name: 'ValueError',
    });
  });
});
