import { ValueError } from '@coll/core';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { idInCluster, isChief, type Task, workerCount } from '../cluster/cluster-rules.js';

/** The position of a worker among those that train together. */
export interface WorkerPlace {
  readonly workers: number;
  /** From 0. The chief is first, or worker 0 if there is no chief. */
  readonly idInCluster: number;
  readonly isChief: boolean;
  /** Undefined for a single worker. */
  readonly task: Task | undefined;
}

const alone: WorkerPlace = { workers: 1, idInCluster: 0, isChief: true, task: undefined };

/**
 * The place of this process; a single worker if there is no cluster.
 * @throws ValueError for a cluster that does not say which task this is, or that breaks a rule
 */
export function placeOf(resolver: ClusterResolver): WorkerPlace {
  const cluster = resolver.clusterSpec();
  if (cluster.isEmpty) return alone;
  const { taskType, taskId } = resolver;
  if (taskType === undefined || taskId === undefined) {
    const cure = 'give the resolver taskType and taskId, or TF_CONFIG a task';
    throw new ValueError('ERR_COLL_CLUSTER', `there is a cluster, but nobody says which task of it this is: ${cure}`);
  }
  const task = { taskType, taskId };
  return {
    workers: workerCount(cluster, task),
    idInCluster: idInCluster(cluster, task),
    isChief: isChief(cluster, task),
    task,
  };
}
