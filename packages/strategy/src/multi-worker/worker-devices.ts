import {
  AssertionError,
  canonicalize,
  DeviceSpec,
  localDevicesFromNumGpus,
  quote,
  requireDistinct,
  ValueError,
} from '@coll/core';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import type { WorkerPlace } from './worker-place.js';

/** The name of a worker without a device: `/job:worker/task:1`. Empty for one that is alone. */
export function taskName({ task }: WorkerPlace): string {
  return task ? `/job:${task.taskType}/replica:0/task:${task.taskId}` : '';
}

/**
 * The full names of the devices of a worker, which has one replica on each. Default: its GPUs, as the resolver counts them, and its CPU where there are none.
 * @throws ValueError for what is no list of devices, and for devices of another task; AssertionError for no device or one twice
 */
export function workerDevices(devices: unknown, place: WorkerPlace, resolver: ClusterResolver): readonly string[] {
  const task = taskName(place);
  if (devices === undefined) {
    const { GPU: gpus = 0 } = resolver.numAccelerators(place.task ?? {});
    return localDevicesFromNumGpus(gpus).map((device) => canonicalize(device, task));
  }
  if (!Array.isArray(devices) || !devices.every((device) => typeof device === 'string'))
    throw new ValueError('ERR_COLL_DEVICE', `devices is a list such as ['cpu:0', 'cpu:1'], not ${quote(devices)}`);
  if (devices.length === 0)
    throw new AssertionError('ERR_COLL_DEVICE', 'a worker needs a device: devices can not be empty');
  const names = devices.map((device) => canonicalize(device, task));
  requireDistinct(names);
  const own = canonicalize('cpu:0', task);
  const odd = names.find((name) => ownerOf(name) !== ownerOf(own));
  if (odd === undefined) return names;
  const told = `devices are those of this worker, ${ownerOf(own)}: ${odd} belongs to another one`;
  throw new ValueError('ERR_COLL_DEVICE', told);
}

function ownerOf(device: string): string {
  const { type: _, index: __, ...owner } = DeviceSpec.fromString(device).fields;
  return new DeviceSpec(owner).toString();
}
