import {
  type IndexedSlices,
  type Mirrored,
  type PerReplica,
  type Structure,
  type Tensor,
  tensor,
  type Value,
} from '@coll/core';
import { expectTypeOf } from 'vitest';
import type { LocalResult, MirroredVariable, Reduced, Regrouped, ReplicaContext, Strategy, Variable } from './index.js';

declare const strategy: Strategy;
declare const replica: ReplicaContext;
declare const slices: IndexedSlices;
declare const weights: Variable;
const array = new Float32Array(2);

// What replicas return is bare or one a replica, and its local results are what they returned.
const losses = await strategy.run(async () => 1.5);
expectTypeOf(losses).toEqualTypeOf<number | PerReplica<number>>();
expectTypeOf(strategy.experimentalLocalResults(losses)).toEqualTypeOf<readonly number[]>();

const steps = await strategy.run((_, x: string) => ({ loss: 1, tags: [x], pair: ['a', true] as [string, boolean] }));
expectTypeOf(steps.loss).toEqualTypeOf<number | PerReplica<number>>();
expectTypeOf(steps.tags).toEqualTypeOf<readonly (string | PerReplica<string>)[]>();
expectTypeOf(steps.pair[1]).toEqualTypeOf<boolean | PerReplica<boolean>>();
expectTypeOf(strategy.experimentalLocalResults(steps)[0]?.pair).toEqualTypeOf<readonly [string, boolean] | undefined>();

// A result may be a tensor or nothing; both are leaves.
const maybe = await strategy.run(() => (Math.random() < 0.5 ? undefined : tensor([1])));
expectTypeOf(maybe).toEqualTypeOf<Tensor | undefined | PerReplica<Tensor | undefined>>();
expectTypeOf(await strategy.run(() => {})).toEqualTypeOf<void | PerReplica<void>>();
expectTypeOf<Regrouped<Date>>().toEqualTypeOf<Date | PerReplica<Date>>();
expectTypeOf<Regrouped<unknown>>().toBeUnknown();

// Of a module nothing is known, unless it is said.
const url = new URL('file:///replica.js');
expectTypeOf(await strategy.run(url)).toBeUnknown();
expectTypeOf(await strategy.run<[], number>(url)).toEqualTypeOf<number | PerReplica<number>>();

// Collectives keep the structure.
expectTypeOf(await replica.allReduce('sum', 1)).toEqualTypeOf<Tensor>();
expectTypeOf(await replica.allReduce('mean', slices)).toEqualTypeOf<IndexedSlices>();
expectTypeOf(replica.allReduceSync('sum', weights)).toEqualTypeOf<Tensor>();
const [first, second] = await replica.allReduce('sum', [array, slices]);
expectTypeOf([first, second] as const).toEqualTypeOf<readonly [Tensor, IndexedSlices]>();
const { grads, bias } = await replica.broadcast({ grads: [array, array], bias: 2 });
expectTypeOf([grads[1], bias] as const).toEqualTypeOf<readonly [Tensor, Tensor]>();
declare const list: Float32Array[];
expectTypeOf(await replica.allGather(list, 0)).toEqualTypeOf<Tensor[]>();
expectTypeOf<Reduced<Structure<Value>>>().not.toBeAny();

// Distributed values have components, and variables too.
expectTypeOf<LocalResult<{ x: Mirrored<Tensor>; y: number }>>().toEqualTypeOf<{
  readonly x: Tensor;
  readonly y: number;
}>();
expectTypeOf<LocalResult<MirroredVariable>>().toEqualTypeOf<MirroredVariable['values'][number]>();

// @ts-expect-error text is no value
void replica.allReduce('sum', 'text');

// @ts-expect-error the function of a replica gets its context first
void strategy.run((context: string) => context);
