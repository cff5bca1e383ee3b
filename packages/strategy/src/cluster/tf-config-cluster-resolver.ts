import { DeviceSpec, ValueError } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import {
  type ClusterSpec,
  clusterOf,
  type Environment,
  type TFConfig,
  taskIdOf,
  taskTypeOf,
  tfConfigFrom,
  wrongValue,
} from '@coll/rendezvous/internal';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions, taskOptions } from './cluster-resolver.js';

/** Values that override the values of `TF_CONFIG`, and the environment that contains `TF_CONFIG`. */
export interface TFConfigOptions extends TaskOptions {
  /**
   * The name of the environment that the processes run in. Default: that of `TF_CONFIG`, else
   * empty.
   */
  readonly environment?: string | undefined;
  /** The environment that contains `TF_CONFIG`. Default: `process.env`. */
  readonly variables?: Environment | undefined;
  /** Full names of the available devices, for `numAccelerators`. Default: none. */
  readonly devices?: readonly string[] | undefined;
}

const tfConfigOptions = knownOptions<TFConfigOptions>('TFConfigClusterResolver', {
  taskType: true,
  taskId: true,
  rpcLayer: true,
  environment: true,
  variables: true,
  devices: true,
});

/**
 * The cluster in the environment variable `TF_CONFIG`, which is read again at every call:
 *
 *     {
 *       "cluster": { "chief": ["a:2222"], "worker": ["b:2222", "c:2222"] },
 *       "task": { "type": "worker", "index": 0 },
 *       "rpc_layer": "grpc"
 *     }
 *
 * All parts are optional; without the variable the cluster is empty. Every method throws a
 * ValueError if the variable is not JSON of this form.
 *
 * @example
 * ```ts
 * import { TFConfigClusterResolver } from '@coll/strategy';
 *
 * // By default, the variables are those of this process.
 * const TF_CONFIG = JSON.stringify({
 *   cluster: { worker: ['host1:4000', 'host2:4000'] },
 *   task: { type: 'worker', index: 1 },
 * });
 * const resolver = new TFConfigClusterResolver({ variables: { TF_CONFIG } });
 * console.log(resolver.taskType, resolver.taskId, resolver.master()); // worker 1 host2:4000
 * ```
 */
export class TFConfigClusterResolver extends ClusterResolver {
  readonly #options: TFConfigOptions;

  /** @throws ValueError for unknown options */
  constructor(options?: TFConfigOptions) {
    super();
    this.#options = optionsOf(options, "{ taskType: 'worker', taskId: 0 }", tfConfigOptions);
  }

  get taskType(): string | undefined {
    const { taskType } = this.#options;
    return taskTypeOf(taskType === undefined ? this.#config() : { task: { type: taskType } });
  }

  get taskId(): number | undefined {
    const { taskId } = this.#options;
    return taskIdOf(taskId === undefined ? this.#config() : { task: { index: taskId } });
  }

  /** The protocol of addresses: that of the options, else that of `TF_CONFIG`. */
  get rpcLayer(): string | undefined {
    return this.#options.rpcLayer ?? this.#text('rpc_layer');
  }

  override get environment(): string {
    return this.#options.environment ?? this.#text('environment') ?? '';
  }

  clusterSpec(): ClusterSpec {
    return clusterOf(this.#config());
  }

  /**
   * The `session_master` of `TF_CONFIG`, else the address of a task; empty for a cluster with at
   * most one task, which needs no address.
   * @throws ValueError for an unknown task, or if neither the options nor `TF_CONFIG` name a task
   */
  master(options?: TaskOptions): string {
    const { taskType = this.taskType, taskId = this.taskId, rpcLayer = this.rpcLayer } = taskOptions(options);
    const sessionMaster = this.#text('session_master');
    if (sessionMaster !== undefined) return sessionMaster;
    const cluster = this.clusterSpec();
    const [job, ...others] = cluster.jobs;
    if (job === undefined || (others.length === 0 && cluster.numTasks(job) === 1)) return '';
    if (taskType === undefined || taskId === undefined) {
      const message = 'TF_CONFIG does not name the task of this process; pass taskType and taskId';
      throw new ValueError('ERR_COLL_CLUSTER', message);
    }
    return masterUrl(cluster.taskAddress(taskType, taskId), rpcLayer);
  }

  /**
   * The number of accelerators of a task, by type; of all tasks if neither the options nor
   * `TF_CONFIG` name a task.
   */
  numAccelerators(options?: TaskOptions): Accelerators {
    const { taskType = this.taskType, taskId = this.taskId } = taskOptions(options);
    const counts: Record<string, number> = {};
    const isNamed = taskType !== undefined && taskId !== undefined;
    for (const device of this.#options.devices ?? []) {
      const { job, task, type } = DeviceSpec.fromString(device).fields;
      const isOther = isNamed && (job !== taskType || task !== taskId);
      if (type === undefined || type === 'CPU' || isOther) continue;
      counts[type] = (counts[type] ?? 0) + 1;
    }
    return counts;
  }

  #text(name: 'rpc_layer' | 'session_master' | 'environment'): string | undefined {
    const text = this.#config()[name] ?? undefined;
    if (text === undefined || typeof text === 'string') return text;
    throw wrongValue(`TF_CONFIG: ${name} must be a string`, text);
  }

  #config(): TFConfig {
    return tfConfigFrom(this.#options.variables);
  }
}
