import {
  type AllReduceOptions,
  type CommunicationOptions,
  type CommunicationOptionsInit,
  canonicalize,
  type ProcessGroup,
  ValueError,
  type World,
} from '@coll/core';
import { knownOptions, quote, requireDistinct, requireProcessGroup, resolveCallOptions } from '@coll/core/internal';
import { requireWorld } from '@coll/core/plugin';
import { CollectiveKeys } from './compat/collective-keys.js';

/**
 * Options of `CollectiveAllReduce`: the processes, and the communication options, either as single
 * fields or as `options`.
 */
export interface CollectiveAllReduceOptions extends CommunicationOptionsInit, AllReduceOptions {
  /** Default options of all calls; the options of a call override them. */
  readonly options?: CommunicationOptions | undefined;
  /** The processes that are the workers, including this one. Default: a single worker. */
  readonly group?: ProcessGroup | undefined;
  /**
   * Assigns numbers to groups of devices and to collectives. Ops that share this object share its
   * numbers. Default: a new object.
   */
  readonly collectiveKeys?: CollectiveKeys | undefined;
}

export const collectiveAllReduceOptions = knownOptions<CollectiveAllReduceOptions>('CollectiveAllReduce', {
  bytesPerPack: true,
  timeoutSeconds: true,
  implementation: true,
  checkCalls: true,
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  options: true,
  group: true,
  collectiveKeys: true,
});

/**
 * The devices and workers that take part in the collectives of some ops, and the ops' default
 * options.
 */
export interface CollectiveSetting {
  readonly options: CommunicationOptions;
  /**
   * The devices of this worker; undefined if there is only one worker, which accepts any devices.
   */
  readonly devices: readonly string[] | undefined;
  /**
   * The group of workers, which are two or more processes; undefined if there is only one worker.
   */
  readonly group: ProcessGroup | undefined;
  /** Number of devices of all workers; undefined if `devices` is undefined. */
  readonly groupSize: number | undefined;
  /** The group key of the devices, which is equal on all workers; 0 if `devices` is undefined. */
  readonly groupKey: number;
  /** Counts a collective on these devices. */
  count(): void;
}

/**
 * Validates and completes the arguments of `CollectiveAllReduce`.
 * @throws ValueError for invalid or inconsistent devices, group size or options; AssertionError for
 * a device listed twice
 */
export function collectiveSetting(
  named: readonly string[] | undefined,
  groupSize: number | undefined,
  given: CollectiveAllReduceOptions,
  world: World | undefined,
): CollectiveSetting {
  const { options, bytesPerPack, timeoutSeconds, implementation, checkCalls } = given;
  const { collectiveKeys = new CollectiveKeys() } = given;
  if (!(collectiveKeys instanceof CollectiveKeys))
    throw new ValueError(
      'ERR_COLL_VALUE',
      `collectiveKeys must be an instance of CollectiveKeys, got ${quote(collectiveKeys)}`,
    );
  const merged = resolveCallOptions({ options, bytesPerPack, timeoutSeconds, implementation, checkCalls }).options;
  requireWorld(world);
  requireProcessGroup(given.group);
  const group = given.group && given.group.size > 1 ? given.group : undefined;
  const devices = named ?? world?.devices ?? (given.group && ['/device:CPU:0']);
  if (devices !== undefined) requireDevices(devices);
  const reached = devices && (group ? devices.length * group.size : (world?.devices ?? devices).length);
  requireGroupSize(groupSize, devices, reached);
  const groupKey = devices ? collectiveKeys.getGroupKey(devices) : 0;
  const count = () => {
    if (devices) for (const device of devices) collectiveKeys.getInstanceKey(groupKey, device);
  };
  return { options: merged, devices, group, groupSize: reached, groupKey, count };
}

function requireDevices(devices: readonly string[]): void {
  if (!Array.isArray(devices) || devices.length === 0) {
    throw new ValueError(
      'ERR_COLL_DEVICE',
      "devices must be the list of devices of this worker, such as ['cpu:0', 'cpu:1']",
    );
  }
  requireDistinct(Array.from(devices, (device) => canonicalize(device)));
}

function requireGroupSize(
  groupSize: number | undefined,
  devices: readonly string[] | undefined,
  reached: number | undefined,
): void {
  if (groupSize === undefined) return;
  const fail = (problem: string) => new ValueError('ERR_COLL_VALUE', `group_size ${quote(groupSize)}: ${problem}`);
  if (!(Number.isSafeInteger(groupSize) && groupSize >= 1)) throw fail('it must be a whole number, 1 or more');
  if (!devices) throw fail('pass the devices of this worker as well');
  if (groupSize % devices.length !== 0) {
    throw fail(`it must be divisible by ${devices.length}, the number of devices of each worker`);
  }
  if (groupSize === reached) return;
  const workers = `${devices.length} devices on this worker and ${groupSize / devices.length} workers`;
  throw fail(
    `that is ${workers}, but ${reached} devices take part: pass the process group of all workers as \`group\``,
  );
}
