import {
  asTensor,
  type CrossDeviceOps,
  type Destinations,
  IndexedSlices,
  ReduceOp,
  type Structure,
  toNumbers,
  type Value,
  ValueError,
  validateDestinations,
  zeros,
} from '@coll/core';
import { quote } from '@coll/core/internal';

export interface NonDistributed {
  readonly op: ReduceOp;
  readonly value: unknown;
  readonly destinations: Destinations;
  /** Number of replicas over which the value is reduced. */
  readonly replicas: number;
  readonly ops: () => Promise<CrossDeviceOps>;
}

/**
 * Reduces one value that is the same for all replicas of a single worker. The result is 0 for 0,
 * zeros for zeros, and the value itself for its mean, minimum and maximum.
 * @throws ValueError for the sum or product of any other value over several replicas
 */
export async function reduceNonDistributed({
  op,
  value,
  destinations,
  replicas,
  ops,
}: NonDistributed): Promise<Structure<unknown>> {
  if (value === 0) return 0;
  const isSparse = value instanceof IndexedSlices;
  const dense = isSparse ? undefined : asTensor(value);
  if (dense && ArrayBuffer.isView(value) && toNumbers(dense).every((number) => number === 0))
    return zeros(dense.dtype, dense.shape);
  if (op === ReduceOp.MEAN || op === ReduceOp.MIN || op === ReduceOp.MAX) return value as Structure<unknown>;
  if (replicas !== 1) {
    const message = `A non-distributed value ${quote(value)} cannot be reduced with the given reduce op ${op} over ${replicas} replicas`;
    throw new ValueError('ERR_COLL_VALUE', `${message}: let each replica pass its own value, or use MEAN`, {
      operation: 'reduce',
    });
  }
  validateDestinations(destinations);
  return (await ops()).broadcast(value as Value, destinations);
}
