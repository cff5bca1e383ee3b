import { type IndexedSlices, Mirrored, PerReplica, type Tensor, tensor } from '@coll/core';
import { expectTypeOf } from 'vitest';
import {
  type MirroredVariable,
  type ReplicaContext,
  type ReplicaFunction,
  type Strategy,
  type Variable,
  variable,
} from '../index.js';

declare const strategy: Strategy;
const url = new URL('file:///replica.js');

interface Batch {
  readonly x: Tensor<'float32'>;
  readonly labels: readonly string[];
}
declare const batch: Batch;
const rates = new PerReplica([0.1, 0.2]);

// Arguments have the types of the function's parameters, or are distributed values of these types.
const scale = async (context: ReplicaContext, rate: number, { x }: Batch) =>
  context.allReduce(
    'mean',
    x.data.map((v) => v * rate),
  );
expectTypeOf(await strategy.run(scale, { args: [0.1, batch] })).toEqualTypeOf<
  Tensor<'float32'> | PerReplica<Tensor<'float32'>>
>();
void strategy.run(scale, { args: [rates, new PerReplica([batch, batch])], onReport: () => {} });
void strategy.run(scale, { args: [new Mirrored([0.1, 0.1]), { x: new PerReplica([batch.x]), labels: batch.labels }] });
for await (const step of strategy.experimentalDistributeDataset([batch])) {
  void strategy.run(scale, { args: [await strategy.run(() => 0.5), step] });
}

// The last parameter may be an object of named arguments.
void strategy.run((_, rate: number, named: { decay: number }) => rate * named.decay, {
  args: [0.1],
  kwargs: { decay: rates },
});

// Optional arguments may be omitted.
const optional = (_: ReplicaContext, rate = 0.1) => rate;
void strategy.run(optional);
void strategy.run(optional, { args: [] });
void strategy.run(optional, { args: [rates] });
void strategy.run((_, ...all: string[]) => all.length, { args: ['a', 'b'] });
declare const anything: ReplicaFunction;
void strategy.run(anything, { args: [1, 'a'], kwargs: { b: 2 } });
void strategy.run(anything);

// @ts-expect-error the second argument must be a batch
void strategy.run(scale, { args: [0.1, 0.2] });
// @ts-expect-error a distributed argument must contain numbers
void strategy.run(scale, { args: [new PerReplica(['a']), batch] });
// @ts-expect-error the second argument is missing
void strategy.run(scale, { args: [0.1] });
// @ts-expect-error all arguments are missing
void strategy.run(scale);
// @ts-expect-error one argument too many
void strategy.run(() => 1, { args: [1] });
// @ts-expect-error decay is a number
void strategy.run((_, named: { decay: number }) => named.decay, { kwargs: { decay: 'slow' } });

// With the type of a module, arguments and result have the types of the module's function.
interface Module {
  readonly default: (context: ReplicaContext, rate: number) => Promise<Tensor<'float32'>>;
  readonly train: (context: ReplicaContext) => string;
  readonly version: number;
}
const learned = await strategy.run<Module>(url, { args: [rates] });
expectTypeOf(learned).toEqualTypeOf<Tensor<'float32'> | PerReplica<Tensor<'float32'>>>();
expectTypeOf(strategy.experimentalLocalResults(learned)).toEqualTypeOf<readonly Tensor<'float32'>[]>();
expectTypeOf(await strategy.run<Module, 'train'>(url, { exportName: 'train' })).toEqualTypeOf<
  string | PerReplica<string>
>();
expectTypeOf(await strategy.run<{ replica: () => number }>(url)).toEqualTypeOf<number | PerReplica<number>>();

// @ts-expect-error the replica takes a number
void strategy.run<Module>(url, { args: ['fast'] });
// @ts-expect-error the argument is missing
void strategy.run<Module>(url);
// @ts-expect-error exportName is missing
void strategy.run<Module, 'train'>(url, {});
// @ts-expect-error exportName differs from the type
void strategy.run<Module, 'train'>(url, { exportName: 'default' });
// @ts-expect-error the export is a number, not a function
void strategy.run<Module, 'version'>(url, { exportName: 'version' });
// @ts-expect-error the module exports neither default nor replica
void strategy.run<{ train: () => number }>(url);

// Reduced values keep their dtypes.
declare const losses: number | PerReplica<number>;
declare const slices: PerReplica<IndexedSlices>;
const counts = new PerReplica([tensor(Int32Array.of(1))]);
expectTypeOf(await strategy.reduce('sum', counts, null)).toEqualTypeOf<Tensor<'int32'>>();
expectTypeOf(await strategy.reduce('mean', counts, undefined)).toEqualTypeOf<Tensor<'float64'>>();
expectTypeOf(await strategy.reduce('MEAN', new PerReplica([new Float32Array(2)]), 0)).toEqualTypeOf<
  Tensor<'float32'>
>();
expectTypeOf(await strategy.reduce('mean', slices, null)).toEqualTypeOf<IndexedSlices>();
expectTypeOf((await strategy.reduce('sum', { a: [counts] }, null)).a[0]).toEqualTypeOf<Tensor<'int32'>>();
expectTypeOf(await strategy.gather(counts, 0)).toEqualTypeOf<Tensor<'int32'>>();
declare const unknown: unknown;
expectTypeOf(await strategy.reduce('sum', unknown, null)).toBeUnknown();

// A value shared by all replicas may stay unchanged.
expectTypeOf(await strategy.reduce('sum', losses, null)).toEqualTypeOf<number | Tensor<'float64'>>();
expectTypeOf(await strategy.reduce('mean', new Mirrored(['a', 'b'].map(Number)), null)).toEqualTypeOf<
  number | Tensor<'float64'>
>();
expectTypeOf(variable(new Float32Array(4)).read().data).toEqualTypeOf<Float32Array>();
expectTypeOf(variable([0, 0], { dtype: 'float16' })).toEqualTypeOf<Variable<'float16'>>();
expectTypeOf<Variable<'float16'>>().toExtend<Variable>();
declare const weights: MirroredVariable;
expectTypeOf(await strategy.reduce('mean', weights, null)).toEqualTypeOf<
  Tensor<'float16' | 'bfloat16' | 'float32' | 'float64'>
>();
expectTypeOf(await strategy.reduce('sum', losses, [])).toEqualTypeOf<Tensor<'float64'>>();

// @ts-expect-error an axis is a number
void strategy.reduce('sum', losses, 'first');
