import type { IndexedSlices, ReplicaValue, Tensor, Value } from '@coll/core';
import { expectTypeOf } from 'vitest';
import type { ReplicaContext } from '../index.js';

declare const context: ReplicaContext;

interface Layer {
  readonly kernel: Tensor;
  bias: Tensor;
}

interface Gradients {
  layers: Layer[];
  embedding: IndexedSlices;
}

// Results can be assigned to the variables of the inputs without a cast.
declare let one: Tensor;
one = await context.allReduce('SUM', one);
one = context.allReduceSync('SUM', one);
one = await context.allGather(one, 0);
one = context.allGatherSync(one, 0);
one = await context.broadcast(one);
one = context.broadcastSync(one);

declare let list: Tensor[];
list = await context.allReduce('SUM', list);
list = context.allReduceSync('SUM', list);
list = await context.allGather(list, 0);
list = context.allGatherSync(list, 0);
list = await context.broadcast(list);
list = context.broadcastSync(list);

declare const mixed: Value[];
expectTypeOf(await context.allReduce('SUM', mixed)).toExtend<typeof mixed>();

declare const fixed: readonly Tensor[];
expectTypeOf(await context.allReduce('SUM', fixed)).toExtend<typeof fixed>();

declare const pair: [Tensor, IndexedSlices];
expectTypeOf(await context.allReduce('SUM', pair)).toExtend<typeof pair>();

declare let byName: Record<string, Tensor>;
byName = await context.allReduce('SUM', byName);
byName = await context.broadcast(byName);

declare const nested: { a: Tensor[]; b: { c: Tensor } };
expectTypeOf(await context.allReduce('SUM', nested)).toExtend<typeof nested>();

declare let gradients: Gradients;
gradients = await context.allReduce('SUM', gradients);
gradients = context.allReduceSync('SUM', gradients);

declare let layers: Layer[];
layers = await context.allReduce('SUM', layers);
layers = await context.allGather(layers, 0);
layers = await context.broadcast(layers);
layers = context.broadcastSync(layers);

declare const coming: Promise<Tensor>[];
expectTypeOf(context.allReduce('SUM', coming)).toExtend<typeof coming>();

interface ComingLayer {
  kernel: Promise<Tensor>;
  bias: Promise<Tensor>;
}

declare const comingLayers: Record<string, ComingLayer>;
expectTypeOf(context.allReduce('SUM', comingLayers)).toExtend<typeof comingLayers>();

declare const comingGradients: ComingLayer;
expectTypeOf(context.allReduce('SUM', comingGradients)).toExtend<typeof comingGradients>();

// Array literals keep the types of their items, and the general value type is accepted.
const [kernel, bias] = await context.allReduce('SUM', [one, new Float32Array(1)]);
expectTypeOf([kernel, bias] as const).toEqualTypeOf<readonly [Tensor, Tensor<'float32'>]>();
declare const anything: ReplicaValue;
void context.allReduce('SUM', anything);

interface Named {
  kernel: Tensor;
  name: string;
}
declare const named: Named;
// @ts-expect-error text cannot be reduced
void context.allReduce('SUM', named);
// @ts-expect-error a list must not contain objects with a string field
void context.allReduce('SUM', [named]);
// @ts-expect-error a class instance is not a structure
void context.allReduce('SUM', new Date());
// @ts-expect-error text cannot be reduced
void context.allReduce('SUM', ['text']);
// @ts-expect-error broadcast does not accept promises
void context.broadcast(coming);
