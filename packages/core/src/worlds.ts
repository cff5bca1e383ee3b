import type { World } from './plugin.js';
import { PortableCommunicator } from './portable/portable-communicator.js';
import type { Algorithm } from './schedule/schedule.js';
import { ThreadCommunicator } from './threads/thread-communicator.js';
import type { ThreadGroup } from './threads/thread-group.js';

/** All devices in this thread, under one controller. */
export function portableWorld(devices: readonly string[]): World {
  return {
    devices,
    localRanks: devices.map((_, rank) => rank),
    engine: 'portable',
    communicator: (algorithm: Algorithm) => new PortableCommunicator({ size: devices.length, algorithm }),
  };
}

/** One device of a group whose others live in other threads. */
export function threadWorld(group: ThreadGroup, rank: number, devices: readonly string[]): World {
  return {
    devices,
    localRanks: [rank],
    engine: 'threads',
    communicator: (algorithm: Algorithm) => new ThreadCommunicator(group, { rank, algorithm }),
  };
}
