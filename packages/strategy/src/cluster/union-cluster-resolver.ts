import { KeyError, ValueError, WrongTypeError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { ClusterSpec, type JobTasks } from '@coll/rendezvous/internal';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions, taskOptions } from './cluster-resolver.js';

/** Values that override the values of the first resolver, even if they are 0 or an empty string. */
export interface UnionOptions extends TaskOptions {}

const unionOptions = knownOptions<UnionOptions>('UnionResolver', { taskType: true, taskId: true, rpcLayer: true });

/**
 * Several clusters as one: tasks of the same job are concatenated in the order of the resolvers.
 * All other values are those of the first resolver.
 *
 * @example
 * ```ts
 * import { ClusterSpec, SimpleClusterResolver, UnionResolver } from '@coll/strategy';
 *
 * const resolvers = ['host1:4000', 'host2:4000'].map(
 *   (address) => new SimpleClusterResolver(new ClusterSpec({ worker: [address] })),
 * );
 * const cluster = new UnionResolver(resolvers).clusterSpec();
 * console.log(cluster.jobTasks('worker')); // [ 'host1:4000', 'host2:4000' ]
 * ```
 */
export class UnionResolver extends ClusterResolver {
  readonly #resolvers: readonly [ClusterResolver, ...ClusterResolver[]];
  readonly #options: UnionOptions;

  /**
   * @throws ValueError for an empty list, or an unknown option; WrongTypeError for a value that is
   * not a resolver
   */
  constructor(resolvers: readonly ClusterResolver[], given?: UnionOptions) {
    super();
    const options = optionsOf(given, "{ taskType: 'worker', taskId: 0 }", unionOptions);
    if (!Array.isArray(resolvers)) throw new WrongTypeError(`resolvers must be a list, got ${quote(resolvers)}`);
    const odd = resolvers.findIndex((resolver) => !(resolver instanceof ClusterResolver));
    if (odd >= 0) throw new WrongTypeError(`resolver ${odd} must be a ClusterResolver, got ${quote(resolvers[odd])}`);
    const [first, ...others] = resolvers;
    if (!first) throw new ValueError('ERR_COLL_VALUE', 'a union needs at least one resolver');
    this.#resolvers = [first, ...others];
    this.#options = options;
  }

  get taskType(): string | undefined {
    return this.#options.taskType ?? this.#resolvers[0].taskType;
  }

  get taskId(): number | undefined {
    return this.#options.taskId ?? this.#resolvers[0].taskId;
  }

  /** The protocol of addresses: that of the options, else that of the first resolver. */
  get rpcLayer(): string | undefined {
    return this.#options.rpcLayer ?? this.#resolvers[0].rpcLayer;
  }

  override get environment(): string {
    return this.#resolvers[0].environment;
  }

  /**
   * The merged tasks of all resolvers.
   * @throws KeyError if two resolvers define the same task number of a job
   */
  clusterSpec(): ClusterSpec {
    const parts = this.#resolvers.map((resolver) => resolver.clusterSpec().asDescription());
    const jobs = [...new Set(parts.flatMap((part) => Object.keys(part)))];
    const tasksOf = (job: string) => parts.flatMap((part) => (part[job] === undefined ? [] : [part[job]]));
    return new ClusterSpec(Object.fromEntries(jobs.map((job) => [job, joined(job, tasksOf(job))])));
  }

  /**
   * The address of a task in the union; without a task, the master of the first resolver.
   * @throws ValueError for an unknown task
   */
  master(options?: TaskOptions): string {
    const { taskType, taskId, rpcLayer } = taskOptions(options);
    if (taskType === undefined || taskId === undefined) return this.#resolvers[0].master({ rpcLayer });
    return masterUrl(this.clusterSpec().taskAddress(taskType, taskId), rpcLayer ?? this.rpcLayer);
  }

  numAccelerators(options?: TaskOptions): Accelerators {
    return this.#resolvers[0].numAccelerators(options);
  }
}

function joined(job: string, parts: readonly JobTasks[]): JobTasks {
  if (parts.every((part) => Array.isArray(part))) return parts.flat() as readonly string[];
  const tasks = new Map<string, string>();
  for (const [index, address] of parts.flatMap((part) => Object.entries(part))) {
    const other = tasks.get(index);
    if (other !== undefined)
      throw new KeyError(
        'ERR_COLL_KEY',
        `task ${index} of job ${quote(job)} has two addresses: ${other} and ${address}`,
      );
    tasks.set(index, address);
  }
  return Object.fromEntries(tasks);
}
