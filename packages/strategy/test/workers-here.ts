import type { ProcessGroup } from '@coll/core';
import { openProcessGroup } from '@coll/processes';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import {
  ClusterSpec,
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
  SimpleClusterResolver,
} from '@coll/strategy';

export const cpus = (count: number) => Array.from({ length: count }, (_, index) => `cpu:${index}`);

const open: ProcessGroup[] = [];

/** All members of a group of processes, in this one. Only asynchronous calls can meet. */
export async function groupsHere(size: number): Promise<ProcessGroup[]> {
  await using store = new MemoryStore();
  const jobKey = TcpStoreServer.newKey();
  const options = { store, size, jobKey, timeoutSeconds: 120, heartbeatSeconds: 20 };
  const groups = await Promise.all(cpus(size).map((_, rank) => openProcessGroup({ ...options, rank })));
  open.push(...groups);
  return groups;
}

/** Closes the groups that were opened, after a test. */
export async function closeGroups(): Promise<void> {
  await Promise.all(open.splice(0).map((group) => group.close()));
}

/** A group with members of its own instead of those of another group. */
export function groupWith(group: ProcessGroup, own: Partial<ProcessGroup>): ProcessGroup {
  return new Proxy(group, {
    get(target, name) {
      const value = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The strategies of all workers, in this thread. */
export async function workersHere(
  workers: number,
  replicas: number,
  options: MultiWorkerMirroredStrategyOptions = {},
): Promise<MultiWorkerMirroredStrategy[]> {
  const cluster = new ClusterSpec({ worker: cpus(workers).map((_, worker) => `host:${worker}`) });
  const groups = await groupsHere(workers);
  return groups.map((group, taskId) => {
    const clusterResolver = new SimpleClusterResolver(cluster, { taskType: 'worker', taskId });
    return new MultiWorkerMirroredStrategy({ clusterResolver, devices: cpus(replicas), group, ...options });
  });
}
