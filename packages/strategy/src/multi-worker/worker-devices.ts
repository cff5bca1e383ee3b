import { canonicalize, DeviceSpec, localDevicesFromNumGpus, ValueError } from '@coll/core';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { namedDevices } from '../mirrored-devices.js';
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
  const names = namedDevices(devices, 'a worker', task);
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
