import {
  type DistributedValues,
  type IndexedSlices,
  Mirrored,
  PerReplica,
  type PossiblyMirrored,
  type Tensor,
  type TensorLike,
  tensor,
} from '@coll/core';
import { expectTypeOf } from 'vitest';

const value = new PerReplica([tensor([1]), tensor([2])]);
expectTypeOf(value).toEqualTypeOf<PerReplica<Tensor<'float64'>>>();
expectTypeOf(value.values).toEqualTypeOf<readonly Tensor<'float64'>[]>();
expectTypeOf(value.primary).toEqualTypeOf<Tensor<'float64'>>();
expectTypeOf(value.devices).toEqualTypeOf<readonly string[]>();
expectTypeOf<PerReplica['kind']>().toEqualTypeOf<'PerReplica'>();
expectTypeOf(value).toExtend<DistributedValues<Tensor>>();

expectTypeOf(new Mirrored(['a', 'b']).values).toEqualTypeOf<readonly string[]>();
expectTypeOf<PerReplica<Tensor>>().not.toExtend<Mirrored<Tensor>>();
expectTypeOf<Mirrored<Tensor>>().not.toExtend<PerReplica<Tensor>>();
expectTypeOf<PerReplica<Tensor>>().not.toExtend<PerReplica<string>>();

// A collective returns a value or a Mirrored of values, and instanceof distinguishes the two.
declare const result: PossiblyMirrored;
if (result instanceof Mirrored) expectTypeOf(result.values).toEqualTypeOf<readonly (Tensor | IndexedSlices)[]>();

// A Mirrored of tensors can be used as a tensor.
expectTypeOf<Mirrored<Tensor>>().toExtend<TensorLike>();

// @ts-expect-error the components must be a list
new PerReplica(tensor([1]));

// @ts-expect-error the list of components is read-only
value.values.push(tensor([3]));

// @ts-expect-error the dtype must be one of `dtypes`
tensor([1], { dtype: 'float' });

// @ts-expect-error text is not a tensor
expectTypeOf<string>().toExtend<TensorLike>();
