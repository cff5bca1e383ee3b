import { ValueError } from '@coll/core';
import { idInCluster, isChief, type Task, workerCount } from '@coll/rendezvous/internal';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';

/** Which of how many workers this is. */
export interface WorkerInfo {
  readonly workers: number;
  /** Index of this worker, from 0. Index 0 is the chief, or worker 0 if there is no chief. */
  readonly idInCluster: number;
  readonly isChief: boolean;
  /** The task of this worker in the cluster; undefined for a single worker. */
  readonly task: Task | undefined;
}

const alone: WorkerInfo = { workers: 1, idInCluster: 0, isChief: true, task: undefined };

/**
 * Which worker this process is. Without a cluster, it is the only one.
 * @throws ValueError for an invalid cluster, or if the resolver does not report the task of this
 * process
 */
export function workerInfoOf(resolver: ClusterResolver): WorkerInfo {
  const cluster = resolver.clusterSpec();
  if (cluster.isEmpty) return alone;
  const { taskType, taskId } = resolver;
  if (taskType === undefined || taskId === undefined) {
    const advice = 'pass taskType and taskId to the resolver, or add a task to TF_CONFIG';
    throw new ValueError(
      'ERR_COLL_CLUSTER',
      `the cluster is known, but not which of its tasks this process is: ${advice}`,
    );
  }
  const task = { taskType, taskId };
  return {
    workers: workerCount(cluster, task),
    idInCluster: idInCluster(cluster, task),
    isChief: isChief(cluster, task),
    task,
  };
}
