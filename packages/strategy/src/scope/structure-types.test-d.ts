import {
  type IndexedSlices,
  type Mirrored,
  PerReplica,
  type ReduceOpLike,
  type Structure,
  type Tensor,
  tensor,
  type Value,
} from '@coll/core';
import { expectTypeOf } from 'vitest';
import type {
  LocalResult,
  MirroredVariable,
  Reduced,
  Regrouped,
  ReplicaContext,
  Strategy,
  Variable,
} from '../index.js';

declare const strategy: Strategy;
declare const replica: ReplicaContext;
declare const slices: IndexedSlices;
declare const weights: Variable;
const array = new Float32Array(2);

// The result of `run` is a bare value or one value per replica; its local results have the type
// that replicas return.
const losses = await strategy.run(async () => 1.5);
expectTypeOf(losses).toEqualTypeOf<number | PerReplica<number>>();
expectTypeOf(strategy.experimentalLocalResults(losses)).toEqualTypeOf<readonly number[]>();

const describe = (_: ReplicaContext, x: string) => ({ loss: 1, tags: [x], pair: ['a', true] as [string, boolean] });
const steps = await strategy.run(describe, { args: ['x'] });
expectTypeOf(steps.loss).toEqualTypeOf<number | PerReplica<number>>();
expectTypeOf(steps.tags).toEqualTypeOf<readonly (string | PerReplica<string>)[]>();
expectTypeOf(steps.pair[1]).toEqualTypeOf<boolean | PerReplica<boolean>>();
expectTypeOf(strategy.experimentalLocalResults(steps)[0]?.pair).toEqualTypeOf<readonly [string, boolean] | undefined>();

// A result may be a tensor or nothing; both are leaves.
const maybe = await strategy.run(() => (Math.random() < 0.5 ? undefined : tensor([1])));
expectTypeOf(maybe).toEqualTypeOf<Tensor<'float64'> | undefined | PerReplica<Tensor<'float64'> | undefined>>();
expectTypeOf(await strategy.run(() => {})).toEqualTypeOf<void | PerReplica<void>>();
expectTypeOf<Regrouped<Date>>().toEqualTypeOf<Date | PerReplica<Date>>();
expectTypeOf<Regrouped<unknown>>().toBeUnknown();

// The result of a module is unknown unless the caller passes its type.
const url = new URL('file:///replica.js');
expectTypeOf(await strategy.run(url)).toBeUnknown();
expectTypeOf(await strategy.run<[], number>(url)).toEqualTypeOf<number | PerReplica<number>>();

// Collectives keep structure and dtypes; the mean of integers is a float.
const games = replica.allGatherSync({ boards: new Uint16Array(4), lengths: new Int32Array(1) }, 0);
expectTypeOf([games.boards.data, games.lengths.data] as const).toEqualTypeOf<readonly [Uint16Array, Int32Array]>();
expectTypeOf(await replica.allReduce('sum', 1)).toEqualTypeOf<Tensor<'float64'>>();
expectTypeOf(await replica.allReduce('mean', slices)).toEqualTypeOf<IndexedSlices>();
expectTypeOf(replica.allReduceSync('sum', weights)).toEqualTypeOf<Tensor>();
const [first, second] = await replica.allReduce('sum', [array, slices]);
expectTypeOf([first, second] as const).toEqualTypeOf<readonly [Tensor<'float32'>, IndexedSlices]>();
const { grads, bias } = await replica.broadcast({ grads: [array, array], bias: 2 });
expectTypeOf([grads[1], bias] as const).toEqualTypeOf<readonly [Tensor<'float32'>, Tensor<'float64'>]>();
declare const list: Float32Array[];
expectTypeOf(await replica.allGather(list, 0)).toEqualTypeOf<Tensor<'float32'>[]>();
expectTypeOf<Reduced<Structure<Value>>>().not.toBeAny();
declare const step: {
  readonly bytes: Uint8Array;
  readonly counts: Tensor<'int32'>;
  readonly halves: Tensor<'float16'>;
};
const means = await replica.allReduce('mean', step);
expectTypeOf(means.bytes.data).toEqualTypeOf<Float32Array>();
expectTypeOf(means.counts.data).toEqualTypeOf<Float64Array>();
expectTypeOf(means.halves).toEqualTypeOf<Tensor<'float16'>>();
expectTypeOf(replica.allReduceSync('MAX', step).counts.data).toEqualTypeOf<Int32Array>();
declare const op: ReduceOpLike;
expectTypeOf(await replica.allReduce(op, step.counts)).toEqualTypeOf<Tensor<'int32' | 'float64'>>();
expectTypeOf(replica.allocate('int64', [2]).data).toEqualTypeOf<BigInt64Array>();

// @ts-expect-error the sum of integers is not a float
expectTypeOf((await replica.allReduce('sum', step.counts)).data).toEqualTypeOf<Float64Array>();

// The local results of distributed values and variables are their components.
expectTypeOf<LocalResult<{ x: Mirrored<Tensor>; y: number }>>().toEqualTypeOf<{
  readonly x: Tensor;
  readonly y: number;
}>();
expectTypeOf<LocalResult<MirroredVariable>>().toEqualTypeOf<MirroredVariable['values'][number]>();

// @ts-expect-error text cannot be reduced
void replica.allReduce('sum', 'text');

// @ts-expect-error the first parameter of a replica function must be its context
void strategy.run((context: string) => context);

// The lower-level methods return values of the dtype after the op, on one device or on several.
const { extended } = strategy;
const parts = new PerReplica([Int32Array.of(1), Int32Array.of(2)]);
type OnDevices<V> = V | Mirrored<V>;
expectTypeOf(await extended.reduceTo('sum', parts, 'cpu:0')).toExtend<OnDevices<Tensor<'int32'>>>();
const reducedTo = await extended.reduceTo('mean', { a: parts, b: [slices] }, 'cpu:0');
// A single component is copied even for a mean.
expectTypeOf(reducedTo.a).toExtend<OnDevices<Tensor<'float64'> | Tensor<'int32'>>>();
expectTypeOf(reducedTo.b[0]).toExtend<OnDevices<IndexedSlices>>();
expectTypeOf(await extended.reduceTo('sum', 0, 'cpu:0')).toExtend<number | OnDevices<Tensor<'float64'>>>();
expectTypeOf(await extended.batchReduceTo('sum', [[parts, 'cpu:0']])).toExtend<OnDevices<Tensor<'int32'>>[]>();
expectTypeOf(await extended.reduceTo('sum', parts as unknown, 'cpu:0')).toEqualTypeOf<Structure<unknown>>();
