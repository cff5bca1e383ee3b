import {
  type CallOptions,
  type Destinations,
  IndexedSlices,
  InvalidArgumentError,
  type ReduceOp,
  type ReducibleLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  type World,
} from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';

type Ops = new (options: object, world?: World) => ReductionToOneDevice;

/** Ops that do something to the slices that come out where there is one destination. */
abstract class Changed extends ReductionToOneDevice {
  protected abstract change(slices: IndexedSlices, value: ReducibleLike): IndexedSlices;

  override async reduce(
    op: ReduceOp,
    value: ReducibleLike,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<never> {
    const result = await super.reduce(op, value, destinations, options);
    return (result instanceof IndexedSlices ? this.change(result, value) : result) as never;
  }
}

class LosesRow extends Changed {
  protected change({ values, indices, denseShape }: IndexedSlices): IndexedSlices {
    const rows = Math.max(0, indices.data.length - 1);
    const rowLength = values.data.length / Math.max(1, indices.data.length);
    const cut = { ...values, data: values.data.subarray(0, rows * rowLength), shape: values.shape.with(0, rows) };
    return new IndexedSlices(cut, { ...indices, data: indices.data.subarray(0, rows), shape: [rows] }, denseShape);
  }
}

class RoundsIndices extends Changed {
  protected change({ values, indices, denseShape }: IndexedSlices): IndexedSlices {
    if (indices.dtype !== 'int64') return new IndexedSlices(values, indices, denseShape);
    const data = BigInt64Array.from(indices.data as BigInt64Array, (index) => BigInt(Number(index)));
    return new IndexedSlices(values, { ...indices, data }, denseShape);
  }
}

class TakesLastShape extends Changed {
  protected change({ values, indices, denseShape }: IndexedSlices, value: ReducibleLike): IndexedSlices {
    const components = value instanceof Object && 'values' in value ? value.values : [];
    const last = Array.isArray(components) ? (components.at(-1) as IndexedSlices | undefined) : undefined;
    return new IndexedSlices(values, indices, last ? last.denseShape : denseShape);
  }
}

class KeepsDuplicates extends ReductionToOneDevice {
  override reduce(op: ReduceOp, value: ReducibleLike, destinations: Destinations, options?: CallOptions) {
    const { deduplicate: _, ...others } = (options ?? {}) as { deduplicate?: boolean };
    const given = options && 'deduplicate' in options ? others : options;
    return super.reduce(op, value, destinations, given) as Promise<never>;
  }
}

class KeepsDuplicatesOfReplicas extends ReductionToOneDevice {
  override allReduce(op: ReduceOp, value: ReplicaValue, replica: number, options?: ReplicaCallOptions) {
    const { deduplicate: _, ...others } = (options ?? {}) as { deduplicate?: boolean };
    return super.allReduce(op, value, replica, others);
  }
}

class BlamesItself extends ReductionToOneDevice {
  override async allReduce(op: ReduceOp, value: ReplicaValue, replica: number, options?: ReplicaCallOptions) {
    try {
      return await super.allReduce(op, value, replica, options);
    } catch (error) {
      const { message } = error as Error;
      throw new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', message, { rank: replica });
    }
  }
}

/** Ops that go wrong with sparse values, and a test of the suite that must notice. */
export const brokenSparseOps: readonly (readonly [double: Ops, test: RegExp])[] = [
  [LosesRow, /represent the sum/],
  [RoundsIndices, /indices of 64 bits/],
  [TakesLastShape, /dense shape of the first/],
  [KeepsDuplicates, /rows with the same index with deduplicate/],
  [KeepsDuplicatesOfReplicas, /rows with the same index for replicas/],
  [BlamesItself, /to all replicas with the same error/],
];
