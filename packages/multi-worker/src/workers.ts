import { canonicalize, DeviceSpec, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** What a group is made of: workers with as many GPUs, or logical devices that stand for them, in each. Ranks are numbered worker by worker. */
export interface Workers {
  readonly workers: number;
  readonly gpusPerWorker: number;
}

/**
 * The workers of a multi-worker group.
 * @throws ValueError for no workers, for what is no device name, for a worker that stands twice, and for a wrong number of GPUs
 */
export function workersOf(workerDevices: readonly string[], numGpusPerWorker: number): Workers {
  if (!Array.isArray(workerDevices) || workerDevices.length === 0) {
    const told = `workerDevices is a list of workers such as ['/job:worker/task:0'], not ${quote(workerDevices)}`;
    throw new ValueError('ERR_COLL_VALUE', told);
  }
  const names = Array.from(workerDevices, (device) => DeviceSpec.fromString(device).toString());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ValueError('ERR_COLL_DEVICE', `workerDevices names ${quote(twice)} twice`);
  if (!(Number.isSafeInteger(numGpusPerWorker) && numGpusPerWorker >= 0)) {
    const told = `numGpusPerWorker must be a whole number from 0, not ${quote(numGpusPerWorker)}`;
    throw new ValueError('ERR_COLL_VALUE', told);
  }
  return { workers: names.length, gpusPerWorker: numGpusPerWorker };
}

/**
 * The workers that devices belong to, by job, replica and task.
 * @throws ValueError where they do not stand worker by worker, or not as many in each
 */
export function workersAmong(devices: readonly string[]): Workers {
  const { order, ...workers } = inTasks(devices);
  if (order.every((index, position) => index === position)) return workers;
  throw new ValueError('ERR_COLL_DEVICE', `devices must stand worker by worker, but are [${devices.join(', ')}]`);
}

/**
 * The same for devices in any order: `order` are their positions worker by worker, these in order of appearance.
 * @throws ValueError where workers have different numbers of them
 */
export function inTasks(devices: readonly string[]): Workers & { readonly order: readonly number[] } {
  const tasks = devices.map(taskOf);
  const names = [...new Set(tasks)];
  const members = names.map((name) => [...tasks.keys()].filter((index) => tasks[index] === name));
  const gpusPerWorker = members[0]?.length ?? 0;
  const odd = members.find(({ length }) => length !== gpusPerWorker);
  if (!odd) return { workers: names.length, gpusPerWorker, order: members.flat() };
  const told = `workers must have as many devices each, but one has ${gpusPerWorker} and another ${odd.length}: [${devices.join(', ')}]`;
  throw new ValueError('ERR_COLL_DEVICE', told);
}

/**
 * Asks devices that belong to several workers to be those that are meant: worker by worker, of as many workers. Devices of one task may
 * stand for all of them.
 * @throws ValueError otherwise
 */
export function requireWorkerByWorker(devices: readonly string[], { workers }: Workers): void {
  if (!isSpread(devices)) return;
  const { workers: found } = workersAmong(devices);
  if (found === workers) return;
  const told = `there are ${workers} workers, but [${devices.join(', ')}] are devices of ${found}: a value has components from each worker`;
  throw new ValueError('ERR_COLL_DEVICE', told, { operation: 'all-reduce' });
}

/** Whether devices belong to more than one worker. Those without a name belong to any. */
export function isSpread(devices: readonly string[]): boolean {
  return new Set(devices.filter((device) => device !== '').map(taskOf)).size > 1;
}

function taskOf(device: string): string {
  const { job, replica, task } = DeviceSpec.fromString(canonicalize(device)).fields;
  return `${job} ${replica} ${task}`;
}
