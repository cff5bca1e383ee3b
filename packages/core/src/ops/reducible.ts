import { requireLikeValues } from '../sparse/like-values.js';
import { asValue } from '../sparse/sparse.js';
import { NotImplementedError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { type Destinations, stateSameDevices, validateDestinations } from '../values/destinations.js';
import { DistributedValues, PerReplica } from '../values/distributed-values.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { asTensor, isTensor, type TensorLike } from '../values/tensor.js';

/** Values that can be reduced: distributed values, or a tensor or slices, which count as one component. */
export type ReducibleLike = DistributedValues | TensorLike | IndexedSlices;

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
  if (value.values.every(isReady)) return value as DistributedValues<Value>;
  return new PerReplica(value.values.map(asValue));
}

/**
 * Whether a component needs no conversion.
 * @throws ValueError for an invalid tensor
 */
function isReady(item: unknown): boolean {
  if (isTensor(item) && 'device' in item) return asTensor(item) === item;
  return item instanceof IndexedSlices;
}

/**
 * Converts the values of all pairs to distributed values, and checks their destinations.
 * @throws ValueError unless `pairs` is an iterable of two-element arrays; the errors of
 * `validateDestinations`
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
  const ready = Array.from(pairs, (pair: unknown): ReadyPair => {
    if (Array.isArray(pair) && pair.length === 2) return [asPerReplica(pair[0]), pair[1] as Destinations];
    throw new ValueError('ERR_COLL_VALUE', `a pair must be an array [value, destinations], got ${quote(pair)}`, {
      operation: 'batch-reduce',
    });
  });
  let before: Destinations | undefined;
  for (const [, destinations] of ready) {
    // The pairs of a batch often have the same list of devices, or values on the same devices.
    if (!areSameDestinations(destinations, before)) validateDestinations(destinations);
    before = destinations;
  }
  return ready;
}

function areSameDestinations(destinations: Destinations, before: Destinations | undefined): boolean {
  if (destinations === before) return true;
  if (!(destinations instanceof DistributedValues) || !(before instanceof DistributedValues)) return false;
  return stateSameDevices(destinations, before);
}

/** Whether any component is sparse. */
function hasIndexedSlices(value: unknown): boolean {
  const components = value instanceof DistributedValues ? value.values : [value];
  return components.some((item) => item instanceof IndexedSlices);
}

/** @throws NotImplementedError for indexed slices */
export function requireNoSlices(value: unknown, operation: string): void {
  if (!hasIndexedSlices(value)) return;
  const message = `${operation} does not support indexed slices: make them dense first`;
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation });
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
