import { IndexedSlices } from '../sparse/indexed-slices.js';
import { requireLikeValues } from '../sparse/like-values.js';
import { asValue, type Value } from '../sparse/sparse.js';
import { NotImplementedError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { DistributedValues, type Mirrored, PerReplica } from '../values/distributed-values.js';
import { isTensor, type TensorLike } from '../values/tensor.js';
import type { Destinations } from './destinations.js';

/** Values that can be reduced: distributed values, or a tensor or slices, which count as one component. */
export type ReducibleLike = DistributedValues | TensorLike | IndexedSlices;

/** A bare value on one device, or `Mirrored` with one component per device. */
export type PossiblyMirrored<T = Value> = T | Mirrored<T>;

/** A value of a batch, and the destinations of its result. */
export type ValueDestinationPair = readonly [value: ReducibleLike, destinations: Destinations];

/** A pair whose value has been validated and split into components. */
export type ReadyPair = readonly [value: DistributedValues<Value>, destinations: Destinations];

/**
 * Converts a value to distributed values of tensors or slices; a value that is not distributed
 * becomes the only component.
 * @throws ValueError unless all components are tensors or slices
 */
export function asPerReplica(value: unknown): DistributedValues<Value> {
  if (!(value instanceof DistributedValues)) return new PerReplica([asValue(value)]);
  if (value.values.every((item) => item instanceof IndexedSlices || (isTensor(item) && 'device' in item))) {
    for (const item of value.values) asValue(item);
    return value as DistributedValues<Value>;
  }
  return new PerReplica(value.values.map(asValue));
}

/**
 * Converts the values of all pairs to distributed values.
 * @throws ValueError unless `pairs` is an iterable of two-element arrays
 */
export function readyPairs(pairs: Iterable<ValueDestinationPair>): ReadyPair[] {
  const isIterable = typeof pairs === 'object' && pairs !== null && Symbol.iterator in pairs;
  if (!isIterable) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      `batchReduce takes a list of [value, destinations] pairs, got ${quote(pairs)}`,
      { operation: 'batch-reduce' },
    );
  }
  return Array.from(pairs, (pair: unknown) => {
    if (Array.isArray(pair) && pair.length === 2) return [asPerReplica(pair[0]), pair[1] as Destinations];
    throw new ValueError('ERR_COLL_VALUE', `a pair must be an array [value, destinations], got ${quote(pair)}`, {
      operation: 'batch-reduce',
    });
  });
}

/** Whether any component is sparse. */
function hasIndexedSlices(value: unknown): boolean {
  const components = value instanceof DistributedValues ? value.values : [value];
  return components.some((item) => item instanceof IndexedSlices);
}

/** @throws NotImplementedError for indexed slices */
export function requireNoSlices(value: unknown, operation: string): void {
  if (!hasIndexedSlices(value)) return;
  const told = `${operation} does not support indexed slices: make them dense first`;
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', told, { operation });
}

/**
 * @throws ValueError for a value without components, and the errors of `requireLikeValues` for
 * components that cannot be combined
 */
export function requireReducible(value: DistributedValues<Value>): void {
  if (value.values.length === 0)
    throw new ValueError('ERR_COLL_VALUE', 'reduce: the value must be non-empty, but it has no components', {
      operation: 'reduce',
    });
  requireLikeValues(value.values);
}
