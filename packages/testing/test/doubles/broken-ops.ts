import {
  type CallOptions,
  type Destinations,
  type Explanation,
  IndexedSlices,
  Mirrored,
  ReduceOp,
  type ReducibleLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  type Tensor,
  type TensorLike,
  type ValueDestinationPair,
  type World,
} from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';

type Ops = new (options: object, world?: World) => ReductionToOneDevice;

class ChangesInputs extends ReductionToOneDevice {
  override async reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations, options?: CallOptions) {
    const result = await super.reduce(op, value, destinations, options);
    const component = value instanceof Object && 'values' in value ? (value.values as readonly Tensor[])[1] : undefined;
    if (component?.data && component.data.length > 0)
      component.data[0] = (component.dtype.includes('64') ? 1n : 1) as never;
    return result as never;
  }
}

class SharesResults extends ReductionToOneDevice {
  override async broadcast(value: TensorLike | IndexedSlices, destinations: Destinations) {
    const copies = await super.broadcast(value, destinations);
    if (!(copies instanceof Mirrored)) return copies as never;
    const { data } = copies.values[0] as Tensor;
    return new Mirrored(
      copies.values.map((copy) => (copy instanceof IndexedSlices ? copy : { ...(copy as Tensor), data })),
    ) as never;
  }
}

class AlwaysMirrors extends ReductionToOneDevice {
  override async reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations, options?: CallOptions) {
    const result = await super.reduce(op, value, destinations, options);
    return (result instanceof Mirrored ? result : new Mirrored([result])) as never;
  }
}

class IgnoresOptions extends ReductionToOneDevice {
  override reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations) {
    return super.reduce(op, value, destinations) as Promise<never>;
  }
}

class ForgetsToDivide extends ReductionToOneDevice {
  override batchReduce(op: ReduceOp, pairs: Iterable<ValueDestinationPair>, options?: CallOptions) {
    return super.batchReduce(op === ReduceOp.MEAN ? ReduceOp.SUM : op, pairs, options) as Promise<never>;
  }
}

class MixesUpBatches extends ReductionToOneDevice {
  override async batchReduce(op: ReduceOp, pairs: Iterable<ValueDestinationPair>, options?: CallOptions) {
    return (await super.batchReduce(op, pairs, options)).toReversed() as never;
  }
}

class TakesAnyOp extends ReductionToOneDevice {
  override reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations, options?: CallOptions) {
    return super.reduce(
      (String(op).toUpperCase() in ReduceOp ? String(op).toUpperCase() : op) as ReduceOp,
      value,
      destinations,
      options,
    ) as Promise<never>;
  }
}

class GathersBackwards extends ReductionToOneDevice {
  override gather(value: ReducibleLike, destinations: Destinations, axis: number, options?: CallOptions) {
    const isMany = value instanceof Object && 'values' in value && !(value instanceof IndexedSlices);
    const turned = isMany ? new Mirrored((value.values as readonly Tensor[]).toReversed()) : value;
    return super.gather(turned as ReducibleLike, destinations, axis, options) as Promise<never>;
  }
}

class MergesDuplicates extends ReductionToOneDevice {
  override async reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations, options?: CallOptions) {
    const result = await super.reduce(op, value, destinations, options);
    if (!(result instanceof IndexedSlices)) return result as never;
    const { values, indices, denseShape } = result;
    const once = new Set(indices.data as Iterable<number>).size;
    const cut = (tensor: Tensor) => ({
      ...tensor,
      data: tensor.data.subarray(0, once * (tensor.shape[1] ?? 1)),
      shape: tensor.shape.with(0, once),
    });
    return new IndexedSlices(cut(values), cut(indices), denseShape) as never;
  }
}

class RepeatsItself extends ReductionToOneDevice {
  readonly #notes: string[] = [];

  override reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations, options?: CallOptions) {
    this.#notes.push('again');
    return super.reduce(op, value, destinations, options) as Promise<never>;
  }

  override explain(): Explanation {
    return { ...super.explain(), notes: [...this.#notes] };
  }
}

class WritesNowhere extends ReductionToOneDevice {
  override allReduce(op: ReduceOp, value: ReplicaValue, replica: number, options?: ReplicaCallOptions) {
    const { into: _, ...others } = (options ?? {}) as { into?: unknown };
    return super.allReduce(op, value, replica, others as ReplicaCallOptions);
  }
}

class NeverCloses extends ReductionToOneDevice {
  override async close(): Promise<void> {}
}

/** Cross-device ops with one thing wrong, and a test of the suite that must notice. */
export const brokenOps: readonly (readonly [double: Ops, test: RegExp])[] = [
  [ChangesInputs, /reduces every dtype/],
  [SharesResults, /broadcasts every dtype/],
  [AlwaysMirrors, /every kind of destination/],
  [IgnoresOptions, /refuses wrong options/],
  [ForgetsToDivide, /mean of every value of a batch/],
  [MixesUpBatches, /keeps the order of a batch/],
  [TakesAnyOp, /refuses invalid ops/],
  [GathersBackwards, /gathers along every axis/],
  [MergesDuplicates, /duplicate indices/],
  [RepeatsItself, /explains deviations/],
  [WritesNowhere, /writes results into/],
  [NeverCloses, /ends the wait when it is closed/],
];
