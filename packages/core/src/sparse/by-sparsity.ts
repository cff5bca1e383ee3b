import { splitBySparsity, stitchValues } from './sparse.js';

/** Serves some values of a list, at least one; `indices` are their positions in the list. */
type Serve<Item, Result> = (items: readonly Item[], indices: readonly number[]) => Promise<readonly Result[]>;

/**
 * Serves the dense values of a list by one function, and then the sparse values by another.
 * Results are in the order of `values`. A value with dense and sparse components counts as dense.
 */
export async function bySparsity<Item, Result>(
  values: readonly Item[],
  serveDense: Serve<Item, Result>,
  serveSparse: Serve<Item, Result>,
): Promise<Result[]> {
  const { dense, denseIndices, sparse, sparseIndices } = splitBySparsity(values);
  return stitchValues<Result>([
    [dense.length > 0 ? await serveDense(dense, denseIndices) : [], denseIndices],
    [sparse.length > 0 ? await serveSparse(sparse, sparseIndices) : [], sparseIndices],
  ]);
}
