import {
  AssertionError,
  type Destinations,
  DistributedValues,
  PerReplica,
  type ReduceOp,
  type ReduceOpLike,
  type Structure,
  type Value,
  ValueError,
} from '@coll/core';
import { asValue, mapStructure, quote } from '@coll/core/internal';
import { reduceOpFrom, viewOnDevice } from '@coll/core/plugin';

/**
 * Completes destinations: a component without a device gets the device of its replica. With one
 * replica, a bare value without a device also gets that replica's device.
 */
export function placedDestinations(destinations: Destinations, replicas: readonly string[]): Destinations {
  if (replicas.length === 1 && isBareWithoutDevice(destinations)) return replicas[0] as string;
  if (!(destinations instanceof DistributedValues) || destinations.values.length !== replicas.length)
    return destinations;
  const { devices } = destinations;
  if (!devices.includes('')) return destinations;
  return devices.map((device, replica) => device || (replicas[replica] as string));
}

function isBareWithoutDevice(destinations: unknown): boolean {
  const { device } = Object(destinations) as { readonly device?: unknown };
  return ArrayBuffer.isView(destinations) || (typeof destinations === 'object' && device === '');
}

/**
 * Gives each component without a device the device of its replica.
 * @throws ValueError unless there is one component per replica
 */
export function placedValues({ values }: DistributedValues, replicas: readonly string[]): PerReplica<Value> {
  if (values.length !== replicas.length) {
    const message = `a value of ${values.length} components cannot be reduced over ${replicas.length} replicas`;
    throw new ValueError('ERR_COLL_VALUE', message, { operation: 'reduce' });
  }
  return new PerReplica(
    values.map((item, replica) => {
      const component = asValue(item);
      return component.device === '' ? viewOnDevice(component, replicas[replica] as string) : component;
    }),
  );
}

/**
 * Converts the name of a reduce op.
 * @throws AssertionError for a variable aggregation that is not an op; ValueError for any other
 * name
 */
export function strategyOp(reduceOp: ReduceOpLike): ReduceOp {
  const given: unknown = reduceOp;
  if (given !== 'NONE' && given !== 'ONLY_FIRST_REPLICA') return reduceOpFrom(reduceOp);
  throw new AssertionError(
    'ERR_COLL_VALUE',
    `${given} is a variable aggregation, not a reduce op: convert it with ReduceOp.fromVariableAggregation`,
  );
}

/** @throws ValueError unless `pairs` is an iterable of pairs */
export function requirePairs(pairs: unknown): readonly (readonly [value: unknown, destinations: unknown])[] {
  const isIterable = typeof pairs === 'object' && pairs !== null && Symbol.iterator in pairs;
  if (!isIterable) throw badPairs(`batchReduceTo takes a list of [value, destinations] pairs, got ${quote(pairs)}`);
  const list = Array.from(pairs as Iterable<readonly [unknown, unknown]>);
  const odd = list.findIndex((pair) => !(Array.isArray(pair) && pair.length === 2));
  if (odd >= 0) throw badPairs(`a pair must be an array [value, destinations], got ${quote(list[odd])}`);
  return list;
}

function badPairs(message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', message, { operation: 'batch-reduce' });
}

/** The first distributed value in a structure. */
export function findDistributed(structure: unknown): DistributedValues | undefined {
  let found: DistributedValues | undefined;
  mapStructure(structure as Structure<unknown>, (leaf) => {
    if (leaf instanceof DistributedValues) found ??= leaf;
  });
  return found;
}
