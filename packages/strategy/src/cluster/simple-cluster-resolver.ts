import { WrongTypeError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { ClusterSpec } from '@coll/rendezvous/internal';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions, taskOptions } from './cluster-resolver.js';

/** Values that a resolver reports in addition to the addresses. */
export interface SimpleClusterOptions extends TaskOptions {
  /** The address that `master()` returns if it is called without a task. Default: empty. */
  readonly master?: string | undefined;
  /** The name of the environment that the processes run in. Default: empty. */
  readonly environment?: string | undefined;
  /** The accelerators of each task. Default: none. */
  readonly numAccelerators?: Accelerators | undefined;
}

const simpleClusterOptions = knownOptions<SimpleClusterOptions>('SimpleClusterResolver', {
  taskType: true,
  taskId: true,
  rpcLayer: true,
  master: true,
  environment: true,
  numAccelerators: true,
});

/**
 * A cluster described by the caller.
 *
 * @example
 * ```ts
 * import { ClusterSpec, SimpleClusterResolver } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ worker: ['host1:4000', 'host2:4000'] });
 * const resolver = new SimpleClusterResolver(cluster, { taskType: 'worker', taskId: 1 });
 * console.log(resolver.master({ taskType: 'worker', taskId: 0 })); // host1:4000
 * ```
 */
export class SimpleClusterResolver extends ClusterResolver {
  readonly taskType: string | undefined;
  readonly taskId: number | undefined;
  readonly rpcLayer: string | undefined;
  readonly #cluster: ClusterSpec;
  readonly #options: SimpleClusterOptions;

  /**
   * @throws WrongTypeError for a cluster that is not a `ClusterSpec`, or a master that is not a
   * string; ValueError for unknown options
   */
  constructor(cluster: ClusterSpec, given?: SimpleClusterOptions) {
    super();
    const options = optionsOf(given, "{ taskType: 'worker', taskId: 0 }", simpleClusterOptions);
    const { master, taskType, taskId, rpcLayer } = options;
    if (!(cluster instanceof ClusterSpec))
      throw new WrongTypeError(`the cluster must be a ClusterSpec, new ClusterSpec({ … }), got ${quote(cluster)}`);
    if (master !== undefined && typeof master !== 'string')
      throw new WrongTypeError(`the master must be an address, got ${quote(master)}`);
    this.#cluster = cluster;
    this.#options = options;
    this.taskType = taskType;
    this.taskId = taskId;
    this.rpcLayer = rpcLayer;
  }

  override get environment(): string {
    return this.#options.environment ?? '';
  }

  clusterSpec(): ClusterSpec {
    return this.#cluster;
  }

  master(options?: TaskOptions): string {
    const { taskType, taskId, rpcLayer = this.rpcLayer } = taskOptions(options);
    const isNamed = taskType !== undefined && taskId !== undefined;
    const address = isNamed ? this.#cluster.taskAddress(taskType, taskId) : (this.#options.master ?? '');
    return masterUrl(address, rpcLayer);
  }

  numAccelerators(): Accelerators {
    return this.#options.numAccelerators ?? {};
  }
}
