import type { ReduceOp } from '../collectives/reduce-op.js';
import type { PossiblyMirrored } from '../ops/reducible.js';
import type { Value } from '../sparse/sparse.js';
import { DistributedValues, PerReplica } from '../values/distributed-values.js';
import type { Tensor } from '../values/tensor.js';

/** What replicas do together. */
export type ReplicaRequest =
  | { readonly kind: 'all-reduce'; readonly op: ReduceOp }
  | { readonly kind: 'all-gather'; readonly axis: number }
  /** `root`: a replica. */
  | { readonly kind: 'broadcast'; readonly root: number };

/** One list of values for each local rank, all of the same length. */
export type ValueLists = readonly (readonly Value[])[];

/** The call of all local ranks: of all ranks under one controller, of one rank in a thread or process of its own. */
export interface Batch {
  readonly request: ReplicaRequest;
  /** `inputs[i]` belong to local rank `i`, and are on its device. */
  readonly inputs: ValueLists;
  /** Checked memory for the dense results of each local rank, one tensor a dense value. Undefined: new memory. */
  readonly into?: readonly (readonly Tensor[] | undefined)[] | undefined;
  /** Form of the structure that the values were taken from, which all ranks have alike. */
  readonly form: string;
  /** More numbers that all ranks must have alike. */
  readonly announced?: readonly number[] | undefined;
}

/** One value for each position in the lists, with a component for each list. */
export function perReplica<Item extends Value>(lists: readonly (readonly Item[])[]): PerReplica<Item>[] {
  return (lists[0] ?? []).map((_, index) => new PerReplica(lists.map((list) => list[index] as Item)));
}

/** What a result is for the replica at a place. */
export function componentOf(result: PossiblyMirrored, place: number): Value {
  return result instanceof DistributedValues ? (result.values[place] as Value) : result;
}
