import type { ReduceOp } from '../collectives/reduce-op.js';
import { requireAlike } from '../kernels/arithmetic.js';
import { type Batch, componentOf, perReplica, type ValueLists } from '../replicas/batch.js';
import type { PerReplica, PossiblyMirrored } from '../values/distributed-values.js';
import type { Value } from '../values/indexed-slices.js';
import type { Tensor } from '../values/tensor.js';

/** The implementations of the calls of a batch. */
interface Implementations {
  reduce(op: ReduceOp, values: readonly PerReplica<Value>[]): Promise<readonly PossiblyMirrored[]>;
  gather(value: PerReplica<Tensor>, axis: number): Promise<PossiblyMirrored>;
  /** Copies the inputs of replica `root`. */
  broadcast(root: number, values: readonly PerReplica<Value>[]): Promise<readonly PossiblyMirrored[]>;
}

/** The results of a batch by the methods that plug-ins override. Gathers run one after the other. */
export async function resultsByHooks(batch: Batch, implementations: Implementations): Promise<ValueLists> {
  const results = await resultsOf(batch, perReplica(batch.inputs), implementations);
  return batch.inputs.map((_, index) => results.map((result) => componentOf(result, index)));
}

async function resultsOf(
  { request }: Batch,
  values: readonly PerReplica<Value>[],
  implementations: Implementations,
): Promise<readonly PossiblyMirrored[]> {
  switch (request.kind) {
    case 'all-reduce':
      return implementations.reduce(request.op, values);
    case 'all-gather': {
      const results: PossiblyMirrored[] = [];
      for (const value of values) results.push(await implementations.gather(value as PerReplica<Tensor>, request.axis));
      return results;
    }
    case 'broadcast': {
      for (const value of values) requireAlike(value.values as readonly Tensor[], 'broadcast');
      return implementations.broadcast(request.root, values);
    }
  }
}
