import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { ReduceOp } from '../collectives/reduce-op.js';
import { combine } from '../kernels/arithmetic.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { type Tensor, tensor } from '../values/tensor.js';
import { type Batch, type DenseBatch, isDense } from './batch.js';
import { combineHere, isDirect } from './combine-here.js';

const request = { kind: 'all-reduce', op: ReduceOp.SUM } as const;
const on = (index: number, ...numbers: number[]) => tensor(Float32Array.from(numbers), { device: `cpu:${index}` });
const batchOf = (inputs: Batch['inputs'], into?: Batch['into']): Batch => ({ request, inputs, into, form: '' });
const isCombinedHere = (batch: Batch): batch is DenseBatch => isDense(batch) && isDirect(batch);

describe('values of replicas of one thread', () => {
  it('are combined in replica order, each result in memory of its own', () => {
    const numbers = fc.array(fc.float({ noNaN: true }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(numbers, fc.integer({ min: 2, max: 5 }), fc.boolean(), (first, ranks, isInPlace) => {
        const inputs = Array.from({ length: ranks }, (_, index) => [
          on(index, ...first.map((each) => each / (index + 1))),
        ]);
        const expected = toNumbers(
          combine(
            'sum',
            inputs.map(([value]) => value as Tensor),
          ),
        );
        const batch = batchOf(inputs, isInPlace ? inputs : undefined);
        if (!isCombinedHere(batch)) throw new Error('it must be direct');
        const results = combineHere(batch) as readonly (readonly Tensor[])[];
        expect(results.map(([result]) => toNumbers(result as Tensor))).toEqual(inputs.map(() => expected));
        expect(results.map(([result]) => result?.device)).toEqual(inputs.map((_, index) => `cpu:${index}`));
        expect(new Set(results.map(([result]) => result?.data.buffer)).size).toBe(ranks);
      }),
    );
  });

  it('are combined into one shared result if the call allows it', () => {
    const batch = batchOf([[on(0, 1, 2)], [on(1, 3, 4)]]);
    if (!isCombinedHere(batch)) throw new Error('it must be direct');
    const [[first], [second]] = combineHere(batch, true) as [[Tensor], [Tensor]];
    expect(first.data).toBe(second.data);
    expect([...first.data]).toEqual([4, 6]);
  });

  it('are refused before memory changes if their shapes differ', () => {
    const target = on(0, 7);
    const batch = batchOf(
      [
        [on(0, 1), on(0, 1)],
        [on(1, 2), on(1, 2, 3)],
      ],
      [[target, on(0, 0)], undefined],
    );
    if (!isCombinedHere(batch)) throw new Error('it must be direct');
    expect(thrown(() => combineHere(batch))).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', rank: 1 });
    expect([...target.data]).toEqual([7]);
  });

  const [one, two] = [on(0, 1, 2), on(1, 3, 4)];
  const both = new Float32Array(3);
  const [left, right] = [tensor(both.subarray(0, 2)), tensor(both.subarray(1, 3))];
  const slices = new IndexedSlices(new Float32Array([1]), new Int32Array([0]), [2]);
  it.each<readonly [string, Batch]>([
    ['a result in the memory of another replica', batchOf([[one], [two]], [[two], undefined])],
    ['results that share memory', batchOf([[one], [two]], [[left], [left]])],
    ['results that overlap', batchOf([[one], [two]], [[left], [right]])],
    ['a result over its own value, shifted', batchOf([[left], [two]], [[right], undefined])],
    ['a value that two replicas pass, in place', batchOf([[one], [one]], [[one], undefined])],
    ['sparse values', batchOf([[slices], [slices]])],
    ['a gather', { ...batchOf([[one], [two]]), request: { kind: 'all-gather', axis: 0 } }],
  ])('are not combined directly if there is %s', (_, batch) => {
    expect(isCombinedHere(batch)).toBe(false);
  });
});
