import { knownOptions, optionsOf } from '@coll/core/internal';
import type { ClusterSpec } from '@coll/rendezvous/internal';

/** Devices of a task by type, such as `{ GPU: 2 }`. */
export type Accelerators = Readonly<Record<string, number>>;

/**
 * A task and its protocol. For a resolver, the task of this process; for a query, the task that the
 * caller asks about.
 */
export interface TaskOptions {
  /** The job, such as `worker`. Default: the job of this process. */
  readonly taskType?: string | undefined;
  /** The index of the task within its job, from 0. Default: the index of this process. */
  readonly taskId?: number | undefined;
  /** The protocol of addresses, as in `grpc://host:port`. Default: the resolver's own. */
  readonly rpcLayer?: string | undefined;
}

const knownTaskOptions = knownOptions<TaskOptions>('options of a task', {
  taskType: true,
  taskId: true,
  rpcLayer: true,
});

/** @throws ValueError for unknown options, and for a value that is not an object */
export function taskOptions(options: TaskOptions | undefined): Partial<TaskOptions> {
  return optionsOf(options, "{ taskType: 'worker', taskId: 0 }", knownTaskOptions);
}

/**
 * Reports which processes work together, their addresses, and which of the tasks is this process.
 *
 * @example
 * ```ts
 * import { type ClusterResolver, ClusterSpec, SimpleClusterResolver } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ worker: ['host1:4000', 'host2:4000'] });
 * const task = { taskType: 'worker', taskId: 1 };
 * const resolver: ClusterResolver = new SimpleClusterResolver(cluster, task);
 * console.log(resolver.taskId, resolver.clusterSpec().numTasks('worker')); // 1 2
 * ```
 */
export abstract class ClusterResolver {
  /** The name of this process's job, such as `worker`; undefined if unknown. */
  abstract readonly taskType: string | undefined;
  /** The index of this process within its job, from 0; undefined if unknown. */
  abstract readonly taskId: number | undefined;
  abstract readonly rpcLayer: string | undefined;

  /** The name of the environment that the processes run in; empty if there is no special one. */
  get environment(): string {
    return '';
  }

  /** All tasks and their addresses; empty for a single process. */
  abstract clusterSpec(): ClusterSpec;

  /**
   * The address of a task, for TensorFlow sessions; empty if there is none.
   * @throws ValueError for an unknown task
   */
  abstract master(options?: TaskOptions): string;

  /** The accelerators of a task, in addition to its CPUs. */
  abstract numAccelerators(options?: Pick<TaskOptions, 'taskType' | 'taskId'>): Accelerators;
}

/**
 * The address of a task as a URL, such as `grpc://host:port`; the bare address without a protocol.
 */
export function masterUrl(address: string, rpcLayer: string | undefined): string {
  return rpcLayer && address !== '' ? `${rpcLayer}://${address}` : address;
}
