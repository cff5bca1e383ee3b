import type { ReduceOp } from '../collectives/reduce-op.js';
import { requireAlike } from '../kernels/arithmetic.js';
import type { Batch } from '../replicas/batch.js';
import type { PerReplica, PossiblyMirrored } from '../values/distributed-values.js';
import type { Value } from '../values/indexed-slices.js';
import type { Tensor } from '../values/tensor.js';
import type { ReadyPair } from './reducible.js';

/** The implementations of the calls of a batch. */
interface Implementations {
  reduce(op: ReduceOp, pairs: readonly ReadyPair[]): Promise<readonly PossiblyMirrored[]>;
  gather(value: PerReplica<Tensor>, axis: number): Promise<PossiblyMirrored>;
  /** Copies the inputs of replica `root`. */
  broadcast(root: number): Promise<readonly PossiblyMirrored[]>;
}

/** Performs the call of all local replicas on their values. Gathers run one after the other. */
export async function performTogether(
  { request }: Batch,
  values: readonly PerReplica<Value>[],
  implementations: Implementations,
): Promise<readonly PossiblyMirrored[]> {
  switch (request.kind) {
    case 'all-reduce':
      return implementations.reduce(
        request.op,
        values.map((value): ReadyPair => [value, value]),
      );
    case 'all-gather': {
      const results: PossiblyMirrored[] = [];
      for (const value of values) results.push(await implementations.gather(value as PerReplica<Tensor>, request.axis));
      return results;
    }
    case 'broadcast': {
      for (const value of values) requireAlike(value.values as readonly Tensor[], 'broadcast');
      return implementations.broadcast(request.root);
    }
  }
}
