import { AssertionError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { canonicalize, sameDevice } from './device.js';
import { DistributedValues } from './distributed-values.js';
import { IndexedSlices } from './indexed-slices.js';
import { asTensor, isTensor, type Tensor, type TensorCarrier, tensorSymbol } from './tensor.js';

/**
 * The devices of a result: a device, a list of devices, or a value or variable. A value or variable
 * means the devices that hold it; the value itself is not changed.
 */
export type Destinations = string | readonly string[] | Tensor | TensorCarrier | IndexedSlices | DistributedValues;

/**
 * Checks that a value names at least one device: a device, a list of distinct devices, or a value
 * or variable on devices.
 * @throws ValueError for anything else, or if there is no device; AssertionError for a device
 * listed twice
 *
 * @example
 * ```ts
 * import { CollError, validateDestinations } from '@coll/core';
 *
 * validateDestinations(['cpu:0', 'cpu:1']);
 * try {
 *   validateDestinations([]);
 * } catch (error) {
 *   console.log(error instanceof CollError && error.code); // ERR_COLL_DESTINATION
 * }
 * ```
 */
export function validateDestinations(destinations: unknown): asserts destinations is Destinations {
  const devices = rawDevices(destinations);
  if (devices === undefined) {
    throw new ValueError(
      'ERR_COLL_DESTINATION',
      `destinations must be a device, a list of devices, a tensor, a variable, indexed slices or distributed values, got ${quote(destinations)}`,
    );
  }
  if (devices.length === 0 || devices.includes('')) {
    throw new ValueError(
      'ERR_COLL_DESTINATION',
      'destinations must not be empty: pass a device, or a value whose tensors have devices',
    );
  }
  const canonical = devices.map((device) => canonicalize(device));
  if (Array.isArray(destinations)) requireDistinct(canonical);
}

/**
 * The names of the destinations' devices. The names of distributed values are returned unchanged;
 * all others are completed to full names.
 * @throws ValueError for an invalid device name
 *
 * @example
 * ```ts
 * import { getDevicesFrom, tensor } from '@coll/core';
 *
 * const [device] = getDevicesFrom(tensor([1], { device: 'cpu:1' }));
 * console.log(device); // /job:localhost/replica:0/task:0/device:CPU:1
 * ```
 */
export function getDevicesFrom(destinations: Destinations): readonly string[] {
  const devices = rawDevices(destinations) ?? [];
  return destinations instanceof DistributedValues ? devices : devices.map((device) => canonicalize(device));
}

/**
 * Whether two destinations are the same set of devices, in any order and spelling.
 * @throws as `getDevicesFrom`
 *
 * @example
 * ```ts
 * import { devicesMatch } from '@coll/core/plugin';
 *
 * console.log(devicesMatch(['cpu:0', 'cpu:1'], ['/cpu:1', '/cpu:0'])); // true
 * ```
 */
export function devicesMatch(a: Destinations, b: Destinations): boolean {
  if (a === b) return true;
  const [left, right] = [getDevicesFrom(a), getDevicesFrom(b)];
  if (areSame(left, right)) return true;
  return left.every((device) => includesDevice(right, device)) && right.every((device) => includesDevice(left, device));
}

/**
 * For each device of the destinations, its index in `devices`. Undefined if the order is already
 * the same, or if the devices differ.
 */
export function orderOf(destinations: Destinations, devices: readonly string[]): readonly number[] | undefined {
  const wanted = getDevicesFrom(destinations);
  if (wanted.length !== devices.length) return undefined;
  if (wanted.every((device, index) => device === devices[index])) return undefined;
  const places = wanted.map((device) => devices.findIndex((other) => sameDevice(other, device)));
  const isOther = places.some((place, index) => place !== index);
  return isOther && !places.includes(-1) && new Set(places).size === places.length ? places : undefined;
}

/**
 * Whether every value is on its destinations' devices, and all values are on the same devices. True
 * for an empty list.
 * @throws as `getDevicesFrom`
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { allDevicesMatch } from '@coll/core/plugin';
 *
 * const devices = ['cpu:0', 'cpu:1'];
 * const value = new PerReplica(devices.map((device) => tensor([1], { device })));
 * console.log(allDevicesMatch([[value, value]]), allDevicesMatch([[value, 'cpu:0']])); // true false
 * ```
 */
export function allDevicesMatch(pairs: readonly (readonly [DistributedValues, Destinations])[]): boolean {
  const first = pairs[0]?.[0] as DistributedValues;
  return pairs.every(
    ([value, destinations]) =>
      devicesMatch(value, destinations) && (stateSameDevices(value, first) || devicesMatch(value, first)),
  );
}

/** Whether the components of two values state the same device names in the same order. Makes no lists of them. */
export function stateSameDevices(a: DistributedValues, b: DistributedValues): boolean {
  if (a.isVariable || b.isVariable || a.values.length !== b.values.length) return false;
  for (let place = 0; place < a.values.length; place++) {
    const [one, other] = [a.values[place], b.values[place]] as readonly ({ readonly device?: unknown } | null)[];
    if (one?.device !== other?.device) return false;
  }
  return true;
}

/** @throws AssertionError if a device is listed twice */
export function requireDistinct(devices: readonly string[]): void {
  const twice = devices.find((device, index) => devices.indexOf(device) !== index);
  if (twice !== undefined)
    throw new AssertionError(
      'ERR_COLL_DEVICE',
      `device ${twice} is listed twice; a list of devices must name each device once`,
    );
}

/** Whether two lists name the same devices in the same order. */
function areSame(devices: readonly string[], others: readonly string[]): boolean {
  return (
    devices.length === others.length && devices.every((device, index) => sameDevice(device, others[index] as string))
  );
}

function includesDevice(devices: readonly string[], device: string): boolean {
  return devices.some((other) => sameDevice(other, device));
}

function rawDevices(destinations: unknown): readonly string[] | undefined {
  if (typeof destinations === 'string') return [destinations];
  if (destinations instanceof DistributedValues) return destinations.devices;
  if (destinations instanceof IndexedSlices) return [destinations.device];
  if (isTensor(destinations)) return [destinations.device ?? ''];
  if (ArrayBuffer.isView(destinations)) return [''];
  if (isCarrier(destinations)) return [asTensor(destinations, 'destinations').device];
  if (!Array.isArray(destinations)) return undefined;
  // Unlike `every`, `findIndex` does not skip holes.
  return destinations.findIndex((item) => typeof item !== 'string') < 0 ? destinations : undefined;
}

function isCarrier(value: unknown): value is TensorCarrier {
  return typeof value === 'object' && value !== null && tensorSymbol in value;
}

/**
 * @throws AssertionError unless all values are on the same devices in the same order, as a batched
 * all-reduce requires
 */
export function requireSameDevices(values: readonly DistributedValues[]): void {
  const [first, ...others] = values;
  for (const other of others) {
    if (stateSameDevices(first as DistributedValues, other)) continue;
    const [wanted, devices] = [(first as DistributedValues).devices, other.devices];
    if (areSame(wanted, devices)) continue;
    throw new AssertionError(
      'ERR_COLL_DEVICE',
      `all values of a batch must be on the same devices in the same order, got [${wanted}] and [${devices}]`,
      { operation: 'batch-reduce' },
    );
  }
}
