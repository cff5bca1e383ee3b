import type { PerReplica, Structure, Tensor } from '@coll/core';
import { expectTypeOf } from 'vitest';
import type { Distributed, Strategy } from '../index.js';

// Batches become distributed values; the structure around them is kept.
expectTypeOf<Distributed<Float32Array>>().toEqualTypeOf<PerReplica<Float32Array>>();
expectTypeOf<Distributed<number[]>>().toEqualTypeOf<PerReplica<number[]>>();
expectTypeOf<Distributed<Tensor>>().toEqualTypeOf<PerReplica<Tensor>>();
expectTypeOf<Distributed<{ x: Tensor; rest: [string[], Int8Array] }>>().toEqualTypeOf<{
  readonly x: PerReplica<Tensor>;
  readonly rest: readonly [PerReplica<string[]>, PerReplica<Int8Array>];
}>();
expectTypeOf<Distributed<unknown>>().toEqualTypeOf<Structure<PerReplica>>();

// The type of a step follows from the dataset, in whatever form it is passed.
declare const strategy: Strategy;
declare const batches: { x: Float32Array }[];
declare const made: () => AsyncGenerator<{ x: Float32Array }>;
type Steps = AsyncIterable<{ readonly x: PerReplica<Float32Array> }>;
const files = { files: ['a', 'b'], read: (_: readonly string[]) => batches };
expectTypeOf(strategy.experimentalDistributeDataset(batches)).toExtend<Steps>();
expectTypeOf(strategy.experimentalDistributeDataset(made)).toExtend<Steps>();
expectTypeOf(strategy.experimentalDistributeDataset(files)).toExtend<Steps>();
expectTypeOf(strategy.distributeDatasetsFromFunction(() => made)).toExtend<Steps>();
expectTypeOf(strategy.distributeDatasetsFromFunction(async () => batches)).toExtend<Steps>();
