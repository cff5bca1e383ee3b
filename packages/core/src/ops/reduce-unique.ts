import { ReduceOp } from '../collectives/reduce-op.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import { bySparsity } from '../sparse/by-sparsity.js';
import { deduplicate, deduplicatedMean } from '../sparse/deduplicate.js';
import type { Destinations } from '../values/destinations.js';
import { DistributedValues, type PossiblyMirrored } from '../values/distributed-values.js';
import type { IndexedSlices, Value } from '../values/indexed-slices.js';
import type { ReadyPair } from './reducible.js';

/** Reduces batches, and copies results to their destinations. */
export interface Reducer {
  /** Number of workers; all contribute equally many components. */
  readonly workerCount: number;
  reduce(op: ReduceOp, pairs: readonly ReadyPair[], call: ResolvedOptions): Promise<readonly PossiblyMirrored[]>;
  place(value: Value, destinations: Destinations, call: ResolvedOptions): Promise<PossiblyMirrored>;
}

/**
 * Reduces a batch so that sparse results have every index once. For a mean, the sums are divided
 * only once they are complete, so each is rounded once. One device adds the rows for all devices,
 * so all get the same bits.
 */
export async function reduceUnique(
  op: ReduceOp,
  pairs: readonly ReadyPair[],
  call: ResolvedOptions,
  reducer: Reducer,
): Promise<PossiblyMirrored[]> {
  const pairsAt = (indices: readonly number[]) => indices.map((index) => pairs[index] as ReadyPair);
  const isMean = op === ReduceOp.MEAN;
  const reduceSparse = async (sparse: readonly ReadyPair[]) => {
    const sums = await reducer.reduce(isMean ? ReduceOp.SUM : op, sparse, { ...call, sharedResult: true });
    const unique = sums.map((sum, index) => {
      const slices = (sum instanceof DistributedValues ? sum.primary : sum) as IndexedSlices;
      const [{ values }, destinations] = sparse[index] as ReadyPair;
      const result = isMean ? deduplicatedMean(slices, values.length * reducer.workerCount) : deduplicate(slices);
      return reducer.place(result, destinations, call);
    });
    return Promise.all(unique);
  };
  return bySparsity(
    pairs.map(([value]) => value),
    (_, indices) => reducer.reduce(op, pairsAt(indices), call),
    (_, indices) => reduceSparse(pairsAt(indices)),
  );
}

/** The only component of a value. If the component is sparse, it has every index once. */
export function uniqueOf({ primary }: DistributedValues<Value>): Value {
  return 'data' in primary ? primary : deduplicate(primary);
}
