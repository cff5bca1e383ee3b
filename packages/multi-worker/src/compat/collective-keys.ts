import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

// As in TensorFlow, so that logs of both are comparable.
const firstInstanceKey = 100;

/**
 * Numbers that identify collectives. Each list of devices has a group key, and each collective of a
 * device in a group has an instance key. All members get equal keys if they make the same calls,
 * because each member counts its own collectives. Ops that share an object share its numbers.
 *
 * @example
 * ```ts
 * import { CollectiveKeys } from '@coll/multi-worker';
 *
 * const keys = new CollectiveKeys();
 * const group = keys.getGroupKey(['cpu:0', 'cpu:1']);
 * console.log(group); // 1
 * console.log(keys.getInstanceKey(group, 'cpu:0'), keys.getInstanceKey(group, 'cpu:0')); // 100 101
 * ```
 */
export class CollectiveKeys {
  readonly #groupKeys: Map<string, number>;
  readonly #instances: Map<number, Map<string, Counter>>;
  #nextGroupKey: number;

  /**
   * @param groupKeyStart the first group key. Default: 1
   * @throws ValueError unless `groupKeyStart` is a whole number
   */
  constructor(groupKeyStart = 1) {
    if (!Number.isSafeInteger(groupKeyStart)) {
      throw new ValueError('ERR_COLL_VALUE', `groupKeyStart must be a whole number, got ${quote(groupKeyStart)}`);
    }
    this.#nextGroupKey = groupKeyStart;
    this.#groupKeys = new Map();
    this.#instances = new Map();
  }

  /**
   * The group key of a list of devices, whose order matters. New lists get the next number, from
   * `groupKeyStart` on.
   * @throws ValueError unless `devices` is a list
   */
  getGroupKey(devices: readonly string[]): number {
    if (!Array.isArray(devices) || !Array.from(devices, (device) => typeof device).every((type) => type === 'string'))
      throw new ValueError('ERR_COLL_VALUE', `a group must be a list of devices, got ${quote(devices)}`);
    const name = devices.join(',');
    const known = this.#groupKeys.get(name);
    if (known !== undefined) return known;
    const key = this.#nextGroupKey++;
    this.#groupKeys.set(name, key);
    this.#instances.set(key, new Map(devices.map((device) => [device, { next: firstInstanceKey }])));
    return key;
  }

  /**
   * Returns the instance key of the next collective of a device in a group. The first key is 100.
   * @throws ValueError for an unknown group, or a device outside the group
   */
  getInstanceKey(groupKey: number, device: string): number {
    const instances = this.#instances.get(groupKey);
    const counter = instances?.get(device);
    if (counter) return counter.next++;
    const problem = instances
      ? `device ${quote(device)} is not in group ${groupKey}`
      : `unknown group key ${quote(groupKey)}`;
    throw new ValueError('ERR_COLL_VALUE', `${problem}; getGroupKey returns the key of a group`);
  }

  /** Returns a copy, which continues to count independently. */
  copy(): CollectiveKeys {
    const copied = new CollectiveKeys(this.#nextGroupKey);
    for (const [name, key] of this.#groupKeys) copied.#groupKeys.set(name, key);
    for (const [key, instances] of this.#instances) copied.#instances.set(key, copyOf(instances));
    return copied;
  }
}

/** The instance key that the next collective of a device gets. */
interface Counter {
  next: number;
}

function copyOf(instances: ReadonlyMap<string, Counter>): Map<string, Counter> {
  return new Map(Array.from(instances, ([device, { next }]) => [device, { next }]));
}
