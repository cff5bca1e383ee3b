import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { ClusterSpec } from './cluster-spec.js';
import { wrongValue } from './wrong-value.js';

const allowedJobs: readonly string[] = ['chief', 'worker', 'evaluator', 'ps'];

/** A task of a cluster. */
export interface Task {
  readonly taskType: string;
  readonly taskId: number;
}

/**
 * Validates a cluster and a task of it. Jobs are chief, worker, evaluator and ps, with at most one
 * chief and one evaluator. The cluster must list the task; an evaluator need not be listed, because
 * it does not train with the other tasks.
 * @throws ValueError (ERR_COLL_CLUSTER) that names the violated rule
 *
 * @example
 * ```ts
 * import { ClusterSpec, validateCluster } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ worker: ['host1:4000', 'host2:4000'] });
 * validateCluster(cluster, { taskType: 'worker', taskId: 1 }); // throws for taskId: 2
 * ```
 */
export function validateCluster(cluster: ClusterSpec, task: Task): void {
  requireCluster(cluster);
  if (typeof task !== 'object' || task === null)
    throw wrongValue("a task must be an object such as { taskType: 'worker', taskId: 0 }", task);
  const { taskType, taskId } = task;
  const odd = cluster.jobs.find((job) => !allowedJobs.includes(job));
  if (odd !== undefined) throw broken(`job ${quote(odd)} is not one of ${allowedJobs.join(', ')}`);
  if (!allowedJobs.includes(taskType))
    throw broken(`task type ${quote(taskType)} is not one of ${allowedJobs.join(', ')}`);
  if (taskType !== 'evaluator' && !cluster.jobs.includes(taskType))
    throw broken(
      `task type ${quote(taskType)} is not in the cluster, which has ${cluster.jobs.join(', ') || 'no jobs'}`,
    );
  for (const single of ['chief', 'evaluator']) {
    const count = countOf(cluster, single);
    if (count > 1) throw broken(`a cluster must have at most one ${single}, got ${count}`);
  }
  if (!(Number.isInteger(taskId) && taskId >= 0))
    throw broken(`taskId must be a whole number, 0 or more, got ${quote(taskId)}`);
  const count = cluster.jobs.includes(taskType) ? cluster.numTasks(taskType) : 1;
  if (taskId >= count) throw broken(`job ${taskType} has no task ${taskId}: its ${count} tasks are numbered from 0`);
}

/**
 * Whether a task does the work that only one task may do, such as saving checkpoints. This is the
 * chief, or worker 0 if there is no chief. An evaluator is its own chief.
 * @throws ValueError for an invalid cluster or task
 *
 * @example
 * ```ts
 * import { ClusterSpec, isChief } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ worker: ['host1:4000', 'host2:4000'] });
 * console.log(isChief(cluster, { taskType: 'worker', taskId: 0 })); // true
 * ```
 */
export function isChief(cluster: ClusterSpec, task: Task): boolean {
  validateCluster(cluster, task);
  if (task.taskType === 'chief' || task.taskType === 'evaluator') return true;
  return task.taskType === 'worker' && countOf(cluster, 'chief') === 0 && task.taskId === 0;
}

/**
 * Number of workers, including the chief, that train together with a task of this type; 1 for an
 * evaluator.
 * @throws ValueError for an invalid cluster or task
 *
 * @example
 * ```ts
 * import { ClusterSpec, workerCount } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ chief: ['host0:4000'], worker: ['host1:4000'] });
 * console.log(workerCount(cluster, { taskType: 'worker', taskId: 0 })); // 2
 * ```
 */
export function workerCount(cluster: ClusterSpec, task: Task): number {
  validateCluster(cluster, task);
  if (task.taskType === 'ps') throw broken('a ps task is not a worker and has no worker count');
  if (task.taskType === 'evaluator') return 1;
  return countOf(cluster, 'chief') + countOf(cluster, 'worker');
}

/**
 * The index of a worker among those that train together; 0 for the chief and for an evaluator.
 * @throws ValueError for an invalid cluster or task
 *
 * @example
 * ```ts
 * import { ClusterSpec, idInCluster } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ chief: ['host0:4000'], worker: ['host1:4000'] });
 * console.log(idInCluster(cluster, { taskType: 'worker', taskId: 0 })); // 1
 * ```
 */
export function idInCluster(cluster: ClusterSpec, task: Task): number {
  validateCluster(cluster, task);
  if (task.taskType === 'ps') throw broken('a ps task is not a worker and has no worker index');
  return task.taskType === 'worker' ? task.taskId + countOf(cluster, 'chief') : 0;
}

/**
 * The device name of the worker that leads collectives, such as `/job:chief/replica:0/task:0`;
 * empty for a single process and for an evaluator.
 * @throws ValueError for an invalid cluster or task
 *
 * @example
 * ```ts
 * import { ClusterSpec, collectiveLeader } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ chief: ['host0:4000'], worker: ['host1:4000'] });
 * const leader = collectiveLeader(cluster, { taskType: 'worker', taskId: 0 });
 * console.log(leader); // /job:chief/replica:0/task:0
 * ```
 */
export function collectiveLeader(cluster: ClusterSpec, task: Task): string {
  requireCluster(cluster);
  if (cluster.isEmpty) return '';
  validateCluster(cluster, task);
  if (task.taskType === 'evaluator') return '';
  return `/job:${countOf(cluster, 'chief') > 0 ? 'chief' : 'worker'}/replica:0/task:0`;
}

function requireCluster(cluster: unknown): void {
  const { jobs, numTasks } = Object(cluster) as Partial<ClusterSpec>;
  if (!Array.isArray(jobs) || typeof numTasks !== 'function')
    throw wrongValue('the cluster must be a ClusterSpec', cluster);
}

function countOf(cluster: ClusterSpec, job: string): number {
  return cluster.jobs.includes(job) ? cluster.numTasks(job) : 0;
}

function broken(rule: string): ValueError {
  return new ValueError('ERR_COLL_CLUSTER', `the cluster is not valid: ${rule}`);
}
