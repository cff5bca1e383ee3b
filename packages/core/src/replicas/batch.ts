import type { Purpose } from '../collectives/caller-request.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import { DistributedValues, PerReplica, type PossiblyMirrored } from '../values/distributed-values.js';
import type { Value } from '../values/indexed-slices.js';
import { sameShape, type Tensor } from '../values/tensor.js';

/** A collective of replicas. */
export type ReplicaRequest =
  | { readonly kind: 'all-reduce'; readonly op: ReduceOp }
  | { readonly kind: 'all-gather'; readonly axis: number }
  /** `root`: a replica id. */
  | { readonly kind: 'broadcast'; readonly root: number };

/** One list of values for each local rank, all of the same length. */
export type ValueLists = readonly (readonly Value[])[];

/** The call of all local ranks: all ranks for a single controller, one rank for a thread or process. */
export interface Batch {
  readonly request: ReplicaRequest;
  /** `inputs[i]` belongs to the `i`-th local rank and is on its device. */
  readonly inputs: ValueLists;
  /**
   * Validated memory for the dense results of each local rank, one tensor per dense value.
   * Undefined means new memory.
   */
  readonly into?: readonly (readonly Tensor[] | undefined)[] | undefined;
  /** A description of the values' structure, which must be equal on all ranks. */
  readonly form: string;
  /**
   * Numbers that must be equal on all ranks, in addition to shape and dtype; otherwise the call
   * fails.
   */
  readonly announced?: readonly number[] | undefined;
  /** What the call is for, if it is part of a request of the library's own. Default: the call itself. */
  readonly purpose?: Purpose | undefined;
  /** Whether the latest call was the same, on the same memory. Default: false. */
  readonly isRepeated?: boolean | undefined;
}

/** An all-reduce of dense values, at least one for each local rank. */
export interface DenseBatch extends Batch {
  readonly request: Extract<ReplicaRequest, { kind: 'all-reduce' }>;
  readonly inputs: readonly (readonly Tensor[])[];
}

export function isDense(batch: Batch): batch is DenseBatch {
  const { request, inputs } = batch;
  if (request.kind !== 'all-reduce') return false;
  for (const values of inputs) {
    if (values.length === 0) return false;
    for (const value of values) if (!('data' in value)) return false;
  }
  return true;
}

/** Whether the lists have as many values as each other, and the values at an index have the same dtype and shape. */
export function areAlike([first = [], ...others]: DenseBatch['inputs']): boolean {
  for (const list of others) {
    if (list.length !== first.length) return false;
    for (let index = 0; index < list.length; index++) {
      const [one, other] = [first[index] as Tensor, list[index] as Tensor];
      if (one.dtype !== other.dtype || !sameShape(one.shape, other.shape)) return false;
    }
  }
  return true;
}

/** Regroups lists of values: one distributed value per index, with one component per list. */
export function perReplica<Item extends Value>(lists: readonly (readonly Item[])[]): PerReplica<Item>[] {
  return (lists[0] ?? []).map((_, index) => new PerReplica(lists.map((list) => list[index] as Item)));
}

/** The component for the replica at index `index` of the local replicas. */
export function componentOf(result: PossiblyMirrored, index: number): Value {
  return result instanceof DistributedValues ? (result.values[index] as Value) : result;
}
