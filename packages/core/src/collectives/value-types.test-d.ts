import {
  type CrossDeviceOps,
  type DType,
  type DTypeAfter,
  type IndexedSlices,
  type Member,
  Mirrored,
  PerReplica,
  type PossiblyMirrored,
  type ReducedValue,
  type ReducibleLike,
  type Tensor,
  tensor,
  type Value,
} from '@coll/core';
import { expectTypeOf } from 'vitest';

declare const ops: CrossDeviceOps;
declare const slices: PerReplica<IndexedSlices>;
declare const anything: ReducibleLike;
const floats = new PerReplica([tensor([1], { dtype: 'float32' }), tensor([2], { dtype: 'float32' })]);
const counts = new PerReplica([Int32Array.of(1), Int32Array.of(2)]);

// A reduction keeps the dtype, except that the mean of integers is a float.
expectTypeOf<DTypeAfter<'SUM', 'int32'>>().toEqualTypeOf<'int32'>();
expectTypeOf<DTypeAfter<'MEAN', 'int32' | 'uint64'>>().toEqualTypeOf<'float64'>();
expectTypeOf<DTypeAfter<'mean', 'int16' | 'uint8'>>().toEqualTypeOf<'float32'>();
expectTypeOf<DTypeAfter<'mean', 'float16' | 'float64'>>().toEqualTypeOf<'float16' | 'float64'>();
expectTypeOf<DTypeAfter<'mean', 'bool'>>().toBeNever();
expectTypeOf<DTypeAfter<'MAX', DType>>().toEqualTypeOf<DType>();

expectTypeOf<ReducedValue<unknown>>().toEqualTypeOf<Value>();
expectTypeOf<ReducedValue<PerReplica>>().toEqualTypeOf<Value>();
expectTypeOf<ReducedValue<Value>>().toEqualTypeOf<Value>();

// Methods of a member return an array for an array, a tensor for a tensor, and a list for a list.
declare const member: Member;
let array = new Float32Array(2);
array = await member.allReduce('sum', array);
array = await member.allReduce('mean', array);
expectTypeOf(await member.allReduce('mean', new Int32Array(2))).toEqualTypeOf<Float64Array>();
expectTypeOf(await member.reduceScatter('max', new Int8Array(2))).toExtend<Int8Array>();
expectTypeOf(await member.reduce('mean', 0, tensor(new Uint8Array(2)))).toEqualTypeOf<Tensor<'float32'> | undefined>();
expectTypeOf(await member.allReduce('mean', [new Int16Array(1)])).toEqualTypeOf<Float32Array[]>();

// @ts-expect-error the mean of integers does not fit into integers
void member.allReduce('mean', new Int32Array(2), { into: new Int32Array(2) });

// Cross-device ops return a value on one device, or a Mirrored on several.
const sum = await ops.reduce('SUM', floats, floats);
expectTypeOf(sum).toEqualTypeOf<PossiblyMirrored<Tensor<'float32'>>>();
if (sum instanceof Mirrored) expectTypeOf(sum.values).toEqualTypeOf<readonly Tensor<'float32'>[]>();
expectTypeOf(await ops.reduce('MEAN', floats, 'cpu:0')).toExtend<PossiblyMirrored<Tensor<'float32'>>>();
expectTypeOf(await ops.reduce('SUM', slices, slices)).toEqualTypeOf<PossiblyMirrored<IndexedSlices>>();
expectTypeOf(await ops.broadcast(new Uint8Array(1), 'cpu:0')).toEqualTypeOf<PossiblyMirrored<Tensor<'uint8'>>>();
expectTypeOf(await ops.gather(counts, 'cpu:0', 0)).toEqualTypeOf<PossiblyMirrored<Tensor<'int32'>>>();
expectTypeOf(await ops.reduce('SUM', anything, 'cpu:0')).toExtend<PossiblyMirrored>();

// Cross-device ops copy a single component without dividing it, so the dtype may stay.
expectTypeOf(await ops.reduce('MEAN', counts, 'cpu:0')).toExtend<
  PossiblyMirrored<Tensor<'int32'> | Tensor<'float64'>>
>();

const batch = await ops.batchReduce('SUM', [
  [floats, floats],
  [slices, slices],
]);
expectTypeOf(batch).toExtend<PossiblyMirrored<Tensor<'float32'> | IndexedSlices>[]>();

// @ts-expect-error cross-device ops accept op names in upper case only
void ops.reduce('sum', floats, floats);
// @ts-expect-error text is not a value
void ops.reduce('SUM', 'text', 'cpu:0');
