import { AssertionError, canonicalize, DeviceSpec, RuntimeError, ValueError } from '@coll/core';
import { environment, quote, requireDistinct } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import { availableCores } from '../host.js';

/**
 * The full names of the devices, which must belong to one task unless `severalTasks` is true.
 * Default: one logical CPU device per core.
 * @throws ValueError for an invalid list of devices, a mix of localhost and other jobs, or a device
 * of another job without a task number; AssertionError for an empty list or a device listed twice;
 * RuntimeError for devices of several tasks
 */
export function mirroredDevices(devices: unknown, { severalTasks = false } = {}): readonly string[] {
  if (devices === undefined) {
    if (environment('TF_CONFIG'))
      logFirst(1, 'TF_CONFIG', 'info', 'MirroredStrategy uses devices of this process; TF_CONFIG is ignored');
    return Array.from({ length: availableCores() }, (_, core) => canonicalize(`cpu:${core}`));
  }
  const names = namedDevices(devices, 'a MirroredStrategy');
  requireTasks(names, severalTasks);
  for (const device of devices as readonly string[]) requireTask(device);
  return names;
}

/**
 * The full names of a list of devices; devices without a task get `task`.
 * @throws ValueError for an invalid list; AssertionError for a list that is empty or has duplicates
 */
export function namedDevices(devices: unknown, owner: string, task?: string): readonly string[] {
  if (!Array.isArray(devices) || !devices.every((device) => typeof device === 'string'))
    throw new ValueError('ERR_COLL_DEVICE', `devices must be a list such as ['cpu:0', 'cpu:1'], got ${quote(devices)}`);
  if (devices.length === 0)
    throw new AssertionError('ERR_COLL_DEVICE', `${owner} needs at least one device: devices must not be empty`);
  const names = devices.map((device) => canonicalize(device, task));
  requireDistinct(names);
  return names;
}

function requireTasks(devices: readonly string[], severalTasks: boolean): void {
  const tasks = devices.map((device) => DeviceSpec.fromString(device).fields);
  const jobs = new Set(tasks.map(({ job }) => job));
  if (jobs.size > 1 && jobs.has('localhost')) {
    throw new ValueError(
      'ERR_COLL_DEVICE',
      `devices of localhost and of other jobs cannot be mixed: ${devices.join(', ')}`,
    );
  }
  if (!severalTasks && new Set(tasks.map(({ job, task }) => `${job} ${task}`)).size > 1) {
    throw new RuntimeError(
      'ERR_COLL_DEVICE',
      `the devices of a MirroredStrategy must belong to one task, got ${devices.join(', ')}; for several workers use MultiWorkerAllReduce as crossDeviceOps, or MultiWorkerMirroredStrategy`,
    );
  }
}

function requireTask(device: string): void {
  const { job, task } = DeviceSpec.fromString(device).fields;
  if (job === undefined || job === 'localhost' || task !== undefined) return;
  throw new ValueError(
    'ERR_COLL_DEVICE',
    `device "${device}" of another job must include the number of its task, such as /task:0`,
  );
}
