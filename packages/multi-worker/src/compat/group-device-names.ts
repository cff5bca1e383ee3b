import { ValueError } from '@coll/core';
import { quote, requireList } from '@coll/core/internal';

/**
 * Splits devices into the smallest number of groups of `groupSize` devices that together contain
 * every device: `[0, 1, 2, 3, 4]` with size 3 gives `[0, 2, 4]` and `[1, 3, 0]`. The distance
 * between members of a group is the number of groups. If the number of devices is not divisible by
 * the size, some are in two groups.
 * @throws ValueError unless `groupSize` is a whole number from 1 to the number of devices
 *
 * @example
 * ```ts
 * import { groupDeviceNames } from '@coll/multi-worker';
 *
 * console.log(groupDeviceNames(['a', 'b', 'c', 'd'], 2)); // [ [ 'a', 'c' ], [ 'b', 'd' ] ]
 * ```
 */
export function groupDeviceNames<Device>(devices: readonly Device[], groupSize: number): Device[][] {
  requireList(devices, 'devices');
  if (!(Number.isInteger(groupSize) && groupSize >= 1)) {
    throw new ValueError('ERR_COLL_VALUE', `group_size must be a whole number, 1 or more, got ${quote(groupSize)}`);
  }
  if (groupSize > devices.length) {
    throw new ValueError('ERR_COLL_VALUE', `only ${devices.length} devices, but group_size=${groupSize}`);
  }
  const count = Math.ceil(devices.length / groupSize);
  return Array.from({ length: count }, (_, group) =>
    Array.from({ length: groupSize }, (_, member) => devices[(member * count + group) % devices.length] as Device),
  );
}
