import { canonicalize, DeviceSpec, localDevicesFromNumGpus, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { namedDevices } from '../choice/mirrored-devices.js';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import type { WorkerInfo } from './worker-info.js';

/** The name of a worker without a device: `/job:worker/task:1`. Empty for a single worker. */
export function taskName({ task }: WorkerInfo): string {
  return task ? `/job:${task.taskType}/replica:0/task:${task.taskId}` : '';
}

/**
 * The full names of a worker's devices, each with one replica. Default: its GPUs, as counted by the
 * resolver, or else its CPU.
 * @throws ValueError for an invalid list of devices, for devices of another task, or an invalid
 * count; AssertionError for an empty list or a duplicate
 */
export function workerDevices(devices: unknown, info: WorkerInfo, resolver: ClusterResolver): readonly string[] {
  const task = taskName(info);
  if (devices === undefined) {
    const { GPU: gpus = 0 } = resolver.numAccelerators(info.task ?? {});
    if (!(Number.isInteger(gpus) && gpus >= 0)) {
      const message = `numAccelerators of the resolver must return the number of GPUs, such as { GPU: 2 }, got { GPU: ${quote(gpus)} }`;
      throw new ValueError('ERR_COLL_CLUSTER', message);
    }
    return localDevicesFromNumGpus(gpus).map((device) => canonicalize(device, task));
  }
  return ownDevices(namedDevices(devices, 'a worker', task), info);
}

/** The devices of all workers, if each has devices such as these of one worker. */
export function devicesOfAll(devices: readonly string[], { workers }: WorkerInfo): readonly string[] {
  if (workers === 1) return devices;
  const inTask = (task: number) => (device: string) =>
    DeviceSpec.fromString(device).overlaid(new DeviceSpec({ task })).toString();
  return Array.from({ length: workers }, (_, task) => devices.map(inTask(task))).flat();
}

/** The full names of a worker's devices. @throws ValueError for a device of another task */
export function ownDevices(devices: readonly string[], info: WorkerInfo): readonly string[] {
  const task = taskName(info);
  const names = devices.map((device) => canonicalize(device, task));
  const owner = ownerOf(canonicalize('', task));
  const odd = names.find((name) => ownerOf(name) !== owner);
  if (odd === undefined) return names;
  const message = `devices must belong to this worker, ${owner}, but ${odd} belongs to another worker`;
  throw new ValueError('ERR_COLL_DEVICE', message);
}

function ownerOf(device: string): string {
  const { type: _, index: __, ...owner } = DeviceSpec.fromString(device).fields;
  return new DeviceSpec(owner).toString();
}
