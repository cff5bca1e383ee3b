import { canonicalize, DeviceSpec, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/**
 * The number of workers in a group, and the number of GPUs of each worker (or of logical devices
 * that replace GPUs). Ranks are numbered worker by worker.
 */
export interface Workers {
  readonly workers: number;
  readonly gpusPerWorker: number;
}

/**
 * Returns the number of workers in a list of worker devices, and the number of GPUs per worker.
 * @throws ValueError for an empty list, an invalid device name, a worker listed twice, and a wrong
 * number of GPUs
 */
export function workersOf(workerDevices: readonly string[], numGpusPerWorker: number): Workers {
  if (!Array.isArray(workerDevices) || workerDevices.length === 0) {
    const message = `workerDevices must be a list of workers such as ['/job:worker/task:0'], got ${quote(workerDevices)}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  const names = Array.from(workerDevices, (device) => DeviceSpec.fromString(device).toString());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ValueError('ERR_COLL_DEVICE', `workerDevices contains ${quote(twice)} twice`);
  if (!(Number.isSafeInteger(numGpusPerWorker) && numGpusPerWorker >= 0)) {
    const message = `numGpusPerWorker must be a whole number, 0 or more, got ${quote(numGpusPerWorker)}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  return { workers: names.length, gpusPerWorker: numGpusPerWorker };
}

/**
 * The workers to which these devices belong, by job, replica and task.
 * @throws ValueError if devices are not listed worker by worker, or not equally many in each
 */
export function workersAmong(devices: readonly string[]): Workers {
  const { order, ...workers } = inTasks(devices);
  if (order.every((index, position) => index === position)) return workers;
  throw new ValueError('ERR_COLL_DEVICE', `devices must be grouped by worker, got [${devices.join(', ')}]`);
}

/**
 * Like `workersAmong`, for devices in any order: `order` holds their indices worker by worker, in
 * order of appearance.
 * @throws ValueError if workers have different numbers of devices
 */
export function inTasks(devices: readonly string[]): Workers & { readonly order: readonly number[] } {
  const tasks = devices.map(taskOf);
  const names = [...new Set(tasks)];
  const members = names.map((name) => [...tasks.keys()].filter((index) => tasks[index] === name));
  const gpusPerWorker = members[0]?.length ?? 0;
  const odd = members.find(({ length }) => length !== gpusPerWorker);
  if (!odd) return { workers: names.length, gpusPerWorker, order: members.flat() };
  const message = `all workers must have the same number of devices, but one has ${gpusPerWorker} and another ${odd.length}: [${devices.join(', ')}]`;
  throw new ValueError('ERR_COLL_DEVICE', message);
}

/**
 * Checks that devices are listed worker by worker, and belong to this number of workers. Devices
 * that all belong to one task are accepted, too.
 * @throws ValueError if the devices do not match
 */
export function requireWorkerByWorker(devices: readonly string[], { workers }: Workers): void {
  if (!isSpread(devices)) return;
  const { workers: found } = workersAmong(devices);
  if (found === workers) return;
  const message = `there are ${workers} workers, but [${devices.join(', ')}] are devices of ${found}: a value must have components on every worker`;
  throw new ValueError('ERR_COLL_DEVICE', message, { operation: 'all-reduce' });
}

/** Whether devices belong to more than one worker. Empty device names are ignored. */
export function isSpread(devices: readonly string[]): boolean {
  return new Set(devices.filter((device) => device !== '').map(taskOf)).size > 1;
}

function taskOf(device: string): string {
  const { job, replica, task } = DeviceSpec.fromString(canonicalize(device)).fields;
  return `${job} ${replica} ${task}`;
}
