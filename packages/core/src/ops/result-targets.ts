import { collectiveOp } from '../collectives/collective.js';
import type { CommunicationOptions } from '../collectives/communication-options.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import { filled, resultsFor } from '../replicas/results.js';
import { type CallOptions, intoAndShared, type ResolvedOptions } from '../runtime/call-options.js';
import { isIndexedSlices, viewOnDevice } from '../sparse/sparse.js';
import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { asGiven, isGivenOtherwise } from '../values/array-kinds.js';
import { type Destinations, devicesMatch, getDevicesFrom, orderOf } from '../values/destinations.js';
import { DistributedValues, type Mirrored, type PossiblyMirrored } from '../values/distributed-values.js';
import type { Value } from '../values/indexed-slices.js';
import { mirror } from '../values/regroup.js';
import type { Tensor } from '../values/tensor.js';
import { asPerReplica, type ReadyPair, type ReducibleLike } from './reducible.js';

/** Options of `reduce`: those of every collective call, and `into`. */
export type ReduceOptions = CallOptions & {
  /**
   * Memory for the result: a value of the same shape, dtype and number of components, such as an
   * earlier result. Default: new memory.
   */
  readonly into?: ReducibleLike | undefined;
};

/** Options of `batchReduce`: those of every collective call, and `into`. */
export type BatchReduceOptions = CallOptions & {
  /**
   * Memory for the results, as for `reduce`: one value per pair, undefined for sparse ones.
   * Default: new memory.
   */
  readonly into?: readonly (ReducibleLike | undefined)[] | undefined;
};

/**
 * Memory for the results of a batch: for each dense value one tensor per destination, in the order
 * of the result's components.
 */
export type ResultTargets = readonly (readonly Tensor[] | undefined)[];

/** The memory for results in the options of a call. */
export function intoOf<Options extends ReduceOptions | BatchReduceOptions>(options: Options | undefined) {
  return options && 'into' in options ? (options.into as Exclude<Options, CommunicationOptions>['into']) : undefined;
}

/**
 * The validated memory in `into`; undefined if `into` is not given.
 * @throws ValueError for a wrong number of results, a wrong dtype or shape, or memory that overlaps
 * other results or values
 */
export function resultTargets(
  op: ReduceOp,
  pairs: readonly ReadyPair[],
  into: readonly unknown[] | undefined,
  { sharedResult }: ResolvedOptions,
): ResultTargets | undefined {
  if (into === undefined) return undefined;
  if (sharedResult) throw intoAndShared();
  if (!Array.isArray(into)) throw badTarget(`must be a list of values, one per pair, got ${quote(into)}`);
  if (into.length !== pairs.length)
    throw badTarget(`must have one result per value, got ${into.length} results for ${pairs.length} values`);
  const sources: Tensor[] = [];
  const written: Tensor[] = [];
  let before: Destinations | undefined;
  let count = 0;
  const targets = pairs.map(([value, destinations], index) => {
    const given: unknown = into[index];
    const { values } = value;
    const dense = values.find(hasData) as Tensor | undefined;
    const isSparse = values.length > 0 && !dense;
    if (isSparse !== (given === undefined)) {
      throw badTarget(
        isSparse
          ? `value ${index} is sparse, so its result needs new memory and cannot be written into an existing one`
          : `the result for value ${index} is missing`,
      );
    }
    if (given === undefined) return undefined;
    if (typeof given === 'number') throw badTarget(`result ${index} must be a tensor or a typed array, got ${given}`);
    // The memory of the value itself has been validated with the value.
    const memory = given === value ? value : asPerReplica(given);
    if (memory !== value && isIndexedSlices(memory)) return undefined;
    if (destinations === value) count = values.length;
    else if (destinations !== before) count = getDevicesFrom(destinations).length;
    before = destinations;
    const tensors = memory.values as readonly Tensor[];
    if (tensors.length !== count) throw badTarget(`result ${index} has ${tensors.length} tensors for ${count} devices`);
    written.push(...tensors);
    if (values.length === count && values.every(hasData) && devicesMatch(value, destinations))
      sources.push(...(values as readonly Tensor[]));
    else sources.push(...tensors.map(() => dense as Tensor));
    return tensors;
  });
  resultsFor(collectiveOp(op), sources, written);
  return targets;
}

/**
 * Sorts a result's components by its destinations, because an all-reduce returns the components in
 * the order of the input value's devices.
 */
export function inOrderOf<Result extends Value | DistributedValues<Value>>(
  [value, destinations]: ReadyPair,
  result: Result,
): Result | Mirrored<Value> {
  if (destinations === value || !(result instanceof DistributedValues)) return result;
  const order = orderOf(destinations, result.devices);
  return order ? (mirror(order.map((index) => result.values[index] as Value)) as Mirrored<Value>) : result;
}

/** Sorts the target memory of each value by the value's devices, the order in which an all-reduce fills the memory. */
export function targetsInOrderOfValues(pairs: readonly ReadyPair[], targets: ResultTargets): ResultTargets {
  return targets.map((tensors, index) => {
    const [value, destinations] = pairs[index] as ReadyPair;
    const order = tensors && destinations !== value ? orderOf(destinations, value.devices) : undefined;
    return order ? order.map((_, index) => tensors?.[order.indexOf(index)] as Tensor) : tensors;
  });
}

/** The results of a batch in the order of their destinations, and in their target memory, if there is any. */
export function placedResults(
  pairs: readonly ReadyPair[],
  reduced: readonly PossiblyMirrored[],
  targets: ResultTargets | undefined,
): PossiblyMirrored[] {
  const results: PossiblyMirrored[] = reduced.map((result, index) => inOrderOf(pairs[index] as ReadyPair, result));
  return targets
    ? inTargets(results, targets).map((result) => inGivenKind(result))
    : results.map((result, index) => inGivenKind(result, pairs[index]?.[0]));
}

/** A result in the kind of array in which its memory, or the value, was passed; see `asGiven`. */
export function inGivenKind<Result extends PossiblyMirrored>(
  result: Result,
  value?: Value | DistributedValues<Value>,
): Result {
  const source = value instanceof DistributedValues ? value.values[0] : value;
  if (!(result instanceof DistributedValues)) return asGiven(result as Value, source) as Result;
  if (!(source && isGivenOtherwise(source)) && !result.values.some(isGivenOtherwise)) return result;
  return mirror(result.values.map((component) => asGiven(component, source))) as Result;
}

/** Returns the results in their target memory; results that are elsewhere are copied there. */
function inTargets<Result extends Value | Mirrored<Value>>(
  results: readonly Result[],
  targets: ResultTargets,
): (Result | Tensor | Mirrored<Tensor>)[] {
  return results.map((result, index) => {
    const tensors = targets[index];
    if (!tensors) return result;
    const components = (result instanceof DistributedValues ? result.values : [result]) as readonly Tensor[];
    if (components.every((component, index) => isIn(tensors[index] as Tensor, component))) return result;
    return mirror(
      components.map((component, index) => viewOnDevice(filled(tensors[index] as Tensor, component), component.device)),
    );
  });
}

/** Whether a component has the array of its target. The `data` of device memory must not be read. */
function isIn(target: Tensor, component: Tensor): boolean {
  return !target.memory && !component.memory && target.data === component.data;
}

function hasData(component: Value): boolean {
  return 'data' in component;
}

function badTarget(message: string): ValueError {
  return new ValueError('ERR_COLL_BUFFER', `into: ${message}`);
}
