import {
  asTensor,
  type DType,
  IndexedSlices,
  type Tensor,
  type TensorLike,
  type TypedArray,
  tensor,
  zeros,
} from '@coll/core';
import { expectTypeOf } from 'vitest';

// The type of an array determines the dtype, as its value does at run time.
expectTypeOf(tensor(new Float32Array(2))).toEqualTypeOf<Tensor<'float32'>>();
expectTypeOf(tensor(new Float32Array(2)).data).toEqualTypeOf<Float32Array>();
expectTypeOf(tensor(new BigInt64Array(2)).data).toEqualTypeOf<BigInt64Array>();
expectTypeOf(tensor(Buffer.alloc(2)).dtype).toEqualTypeOf<'uint8'>();
expectTypeOf(tensor(new Uint8ClampedArray(2)).dtype).toEqualTypeOf<'uint8'>();
expectTypeOf(tensor(1)).toEqualTypeOf<Tensor<'float64'>>();
expectTypeOf(tensor([1, 2], { shape: [2, 1] })).toEqualTypeOf<Tensor<'float64'>>();

// An explicit dtype takes precedence over the array's type.
expectTypeOf(tensor([1, 2], { dtype: 'bfloat16' }).data).toEqualTypeOf<Uint16Array>();
expectTypeOf(tensor(new Uint8Array(2), { dtype: 'bool' })).toEqualTypeOf<Tensor<'bool'>>();
expectTypeOf(zeros('int32', [2]).data).toEqualTypeOf<Int32Array>();

// If the dtype is not known, the type is any tensor.
declare const dtype: DType;
declare const view: ArrayBufferView;
declare const like: TensorLike;
declare const unknown: unknown;
expectTypeOf(zeros(dtype, [2])).toEqualTypeOf<Tensor>();
expectTypeOf(tensor([1], { dtype })).toEqualTypeOf<Tensor>();
expectTypeOf(tensor(view)).toEqualTypeOf<Tensor>();
expectTypeOf(asTensor(like)).toEqualTypeOf<Tensor>();
expectTypeOf(asTensor(unknown)).toEqualTypeOf<Tensor>();
expectTypeOf<Tensor['data']>().toEqualTypeOf<TypedArray>();

expectTypeOf(asTensor(new Int8Array(1))).toEqualTypeOf<Tensor<'int8'>>();
expectTypeOf(asTensor(tensor([1], { dtype: 'float16' }))).toEqualTypeOf<Tensor<'float16'>>();
expectTypeOf(new IndexedSlices(tensor([1]), tensor([0], { dtype: 'int32' })).values).toEqualTypeOf<Tensor>();

// A tensor of one dtype is a tensor.
expectTypeOf<Tensor<'float32'>>().toExtend<Tensor>();
expectTypeOf<Tensor>().not.toExtend<Tensor<'float32'>>();

// @ts-expect-error a float64 tensor is not a float32 tensor
expectTypeOf(tensor([1])).toEqualTypeOf<Tensor<'float32'>>();

// @ts-expect-error no dtype has this name
zeros('float', [2]);
