import { DeviceSpec, ValueError, WrongTypeError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions, taskOptions } from './cluster-resolver.js';
import { type ClusterDescription, ClusterSpec } from './cluster-spec.js';
import { type Environment, processEnvironment } from './environment.js';
import { wrongValue } from './wrong-value.js';

/** Values that override those of `TF_CONFIG`, and the environment that contains it. */
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

interface TFConfig {
  readonly cluster?: ClusterDescription;
  readonly task?: { readonly type?: unknown; readonly index?: unknown };
  readonly rpc_layer?: unknown;
  readonly session_master?: unknown;
  readonly environment?: unknown;
}

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
    const type = this.#options.taskType ?? this.#config().task?.type ?? undefined;
    if (type === undefined || typeof type === 'string') return type;
    if (typeof type === 'number') return String(type);
    throw wrongValue('TF_CONFIG: task.type must be a string', type);
  }

  get taskId(): number | undefined {
    const index = this.#options.taskId ?? this.#config().task?.index;
    if (index === undefined || index === null) return undefined;
    const number = (typeof index === 'string' && /^\s*\d{1,9}\s*$/.test(index) ? Number(index) : index) as number;
    if (Number.isSafeInteger(number) && number >= 0) return number;
    throw wrongValue('TF_CONFIG: task.index must be a whole number, 0 or more', index);
  }

  /** The protocol of addresses: that of the options, else that of `TF_CONFIG`. */
  get rpcLayer(): string | undefined {
    return this.#options.rpcLayer ?? this.#text('rpc_layer');
  }

  override get environment(): string {
    return this.#options.environment ?? this.#text('environment') ?? '';
  }

  clusterSpec(): ClusterSpec {
    try {
      return new ClusterSpec(this.#config().cluster ?? {});
    } catch (cause) {
      if (!(cause instanceof WrongTypeError)) throw cause;
      throw new ValueError('ERR_COLL_CLUSTER', `TF_CONFIG: ${cause.message}`, { cause });
    }
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
      const told = 'TF_CONFIG does not name the task of this process; pass taskType and taskId';
      throw new ValueError('ERR_COLL_CLUSTER', told);
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
    const text = (this.#options.variables ?? processEnvironment())['TF_CONFIG'];
    if (text === undefined || text === '') return {};
    let config: unknown;
    try {
      config = JSON.parse(text);
    } catch (cause) {
      const form = '{"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}';
      throw new ValueError('ERR_COLL_CLUSTER', `TF_CONFIG must be JSON such as ${form}, got ${quote(text)}`, { cause });
    }
    if (typeof config === 'object' && config !== null && !Array.isArray(config)) return config;
    throw wrongValue('TF_CONFIG must be an object with the fields cluster and task', config);
  }
}
