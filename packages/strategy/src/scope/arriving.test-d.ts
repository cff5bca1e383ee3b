import type { IndexedSlices, Tensor } from '@coll/core';
import { expectTypeOf, it } from 'vitest';
import type { ReplicaContext } from '../index.js';

declare const replica: ReplicaContext;
declare const gradient: Promise<Float32Array>;
declare const slices: Promise<IndexedSlices>;

it('allReduce returns a promise of a structure for values, and a structure of promises for promises', () => {
  expectTypeOf(replica.allReduce('sum', { a: 1, b: Float32Array.of(1) })).resolves.toEqualTypeOf<{
    a: Tensor<'float64'>;
    b: Tensor<'float32'>;
  }>();
  const sums = replica.allReduce('sum', { a: gradient, b: [slices], c: Float32Array.of(1) });
  expectTypeOf(sums.a).toEqualTypeOf<Promise<Tensor<'float32'>>>();
  expectTypeOf(sums.b).toEqualTypeOf<[Promise<IndexedSlices>]>();
  expectTypeOf(sums.c).toEqualTypeOf<Promise<Tensor<'float32'>>>();
  const [first, second] = replica.allReduce('sum', [gradient, 1]);
  expectTypeOf(first).toEqualTypeOf<Promise<Tensor<'float32'>>>();
  expectTypeOf(second).toEqualTypeOf<Promise<Tensor<'float64'>>>();
  expectTypeOf(replica.allReduce('sum', [gradient] as Promise<Float32Array>[])).toEqualTypeOf<
    Promise<Tensor<'float32'>>[]
  >();
  expectTypeOf(replica.allReduce('sum', gradient)).toEqualTypeOf<Promise<Tensor<'float32'>>>();
});
