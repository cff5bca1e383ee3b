import { RuntimeError, ValueError } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import {
  ClusterSpec,
  type Environment,
  expandHostList,
  expandTaskCounts,
  processEnvironment,
  wholeNumber,
  wrongValue,
} from '@coll/rendezvous/internal';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions, taskOptions } from './cluster-resolver.js';

/** Values that Slurm does not provide, or that override Slurm's. */
export interface SlurmOptions {
  /**
   * Number of tasks of each job (`worker`, `chief` and so on). Default: all tasks of the step are
   * workers.
   */
  readonly jobs?: Readonly<Record<string, number>> | undefined;
  /**
   * The port of the first task on each host; the second task uses the next port, and so on.
   * Default: 8888.
   */
  readonly portBase?: number | undefined;
  /** Number of GPUs of each node. Default: `SLURM_GPUS_ON_NODE`, else 0. */
  readonly gpusPerNode?: number | undefined;
  /**
   * Number of GPUs of each task. Default: the GPUs of a node divided by the largest number of tasks
   * on any node, rounded down.
   */
  readonly gpusPerTask?: number | undefined;
  /**
   * Number of tasks per node: one number for all hosts, or one per host name. Default: Slurm's
   * value.
   */
  readonly tasksPerNode?: number | Readonly<Record<string, number>> | undefined;
  /**
   * Whether `clusterSpec` sets `CUDA_VISIBLE_DEVICES` to the GPUs of this task. Default: true if
   * tasks have GPUs.
   */
  readonly autoSetGpu?: boolean | undefined;
  /** The protocol of addresses, as in `grpc://host:port`. Default: `grpc`. */
  readonly rpcLayer?: string | undefined;
  /**
   * The environment from which variables are read, and in which `CUDA_VISIBLE_DEVICES` is set.
   * Default: `process.env`.
   */
  readonly variables?: Record<string, string | undefined> | undefined;
}

const slurmOptions = knownOptions<SlurmOptions>('SlurmClusterResolver', {
  jobs: true,
  portBase: true,
  gpusPerNode: true,
  gpusPerTask: true,
  tasksPerNode: true,
  autoSetGpu: true,
  rpcLayer: true,
  variables: true,
});

/**
 * The tasks of a Slurm step, from srun's variables: `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS`,
 * `SLURM_STEP_NODELIST` and `SLURM_STEP_TASKS_PER_NODE`. Hosts and jobs are sorted by name. Tasks
 * are numbered host by host and assigned to the jobs in this order; the GPUs of a host are assigned
 * to its tasks in order.
 *
 * @example
 * ```ts
 * import { SlurmClusterResolver } from '@coll/strategy';
 *
 * // By default, the variables are those of this process.
 * const variables = {
 *   SLURM_PROCID: '2',
 *   SLURM_STEP_NUM_TASKS: '4',
 *   SLURM_STEP_NODELIST: 'node[1-2]',
 *   SLURM_STEP_TASKS_PER_NODE: '2(x2)',
 * };
 * const resolver = new SlurmClusterResolver({ variables });
 * console.log(resolver.clusterSpec().taskAddress('worker', resolver.taskId)); // node2:8888
 * ```
 */
export class SlurmClusterResolver extends ClusterResolver {
  readonly taskType: string;
  readonly taskId: number;
  readonly rpcLayer: string | undefined;
  readonly #variables: Record<string, string | undefined>;
  readonly #cluster: ClusterSpec;
  readonly #gpusPerTask: number;
  /**
   * The value that `clusterSpec` gives to `CUDA_VISIBLE_DEVICES`; undefined to leave the variable
   * unchanged.
   */
  readonly #gpus: string | undefined;

  /**
   * @throws RuntimeError for a missing variable, more GPUs per task than a node has, or jobs whose
   * numbers of tasks do not add up to that of the step; ValueError for invalid options or variables
   */
  constructor(given?: SlurmOptions) {
    super();
    const options = optionsOf(given, '{ portBase: 8888 }', slurmOptions);
    const { portBase = 8888, autoSetGpu = true, rpcLayer = 'grpc' } = options;
    this.#variables = options.variables ?? (processEnvironment() as Record<string, string | undefined>);
    this.rpcLayer = rpcLayer;
    const tasksByHost = tasksPerHost(options.tasksPerNode, this.#variables);
    requirePorts(portBase, tasksByHost);
    const tasks = tasksByHost.flatMap(([host, count]) =>
      Array.from({ length: count }, (_, index) => ({ address: `${host}:${portBase + index}`, index })),
    );
    const jobs = options.jobs ?? { worker: numberOf('SLURM_STEP_NUM_TASKS', this.#variables) };
    requireAllInJobs(jobs, tasks.length);
    this.#gpusPerTask = gpusOfTask(options, tasksByHost, this.#variables);

    const rank = numberOf('SLURM_PROCID', this.#variables);
    const starts = startsOf(jobs);
    const own = starts.find(({ first, count }) => rank < first + count);
    const task = tasks[rank];
    if (!own || !task) throw missing(`SLURM_PROCID is ${rank}, but the step has ${tasks.length} tasks`);
    this.taskType = own.job;
    this.taskId = rank - own.first;
    const addresses = tasks.map(({ address }) => address);
    this.#cluster = new ClusterSpec(
      Object.fromEntries(starts.map(({ job, first, count }) => [job, addresses.slice(first, first + count)])),
    );
    const gpus = Array.from({ length: this.#gpusPerTask }, (_, gpu) => task.index * this.#gpusPerTask + gpu);
    this.#gpus = autoSetGpu && gpus.length > 0 ? gpus.join(',') : undefined;
  }

  clusterSpec(): ClusterSpec {
    if (this.#gpus !== undefined) this.#variables['CUDA_VISIBLE_DEVICES'] = this.#gpus;
    return this.#cluster;
  }

  master(options?: TaskOptions): string {
    const { taskType = this.taskType, taskId = this.taskId, rpcLayer = this.rpcLayer } = taskOptions(options);
    return masterUrl(this.#cluster.taskAddress(taskType, taskId), rpcLayer);
  }

  numAccelerators(): Accelerators {
    return { GPU: this.#gpusPerTask };
  }
}

type TasksByHost = readonly (readonly [host: string, tasks: number])[];

/** The hosts of the step, sorted by name, with the number of tasks of each. */
function tasksPerHost(given: SlurmOptions['tasksPerNode'], variables: Environment): TasksByHost {
  if (typeof given === 'object' && given !== null) {
    for (const [host, count] of Object.entries(given)) requireWhole(`tasksPerNode: ${host}`, count, 1);
    return byName(Object.entries(given));
  }
  if (given !== undefined) requireWhole('tasksPerNode', given, 1);
  const hosts = expandHostList(textOf('SLURM_STEP_NODELIST', variables));
  if (given !== undefined) return byName(hosts.map((host) => [host, given] as const));
  const counts = expandTaskCounts(textOf('SLURM_STEP_TASKS_PER_NODE', variables));
  if (counts.length !== hosts.length) {
    const message = `SLURM_STEP_NODELIST has ${hosts.length} hosts, but SLURM_STEP_TASKS_PER_NODE has ${counts.length} counts`;
    throw new ValueError('ERR_COLL_CLUSTER', message);
  }
  return byName(hosts.map((host, index) => [host, counts[index] as number] as const));
}

function byName(tasks: TasksByHost): TasksByHost {
  return tasks.toSorted(([a], [b]) => compare(a, b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function gpusOfTask(options: SlurmOptions, tasksByHost: TasksByHost, variables: Environment): number {
  const most = Math.max(1, ...tasksByHost.map(([, count]) => count));
  const { gpusPerNode = variables['SLURM_GPUS_ON_NODE'] ? numberOf('SLURM_GPUS_ON_NODE', variables) : 0 } = options;
  requireWhole('gpusPerNode', gpusPerNode, 0);
  const { gpusPerTask = Math.floor(gpusPerNode / most) } = options;
  requireWhole('gpusPerTask', gpusPerTask, 0);
  if (most * gpusPerTask <= gpusPerNode) return gpusPerTask;
  const message = `${most} tasks with ${gpusPerTask} GPUs each do not fit on a node with ${gpusPerNode} GPUs`;
  throw new RuntimeError('ERR_COLL_CLUSTER', `${message}: lower gpusPerTask, or set gpusPerNode`);
}

function requirePorts(portBase: unknown, tasksByHost: TasksByHost): void {
  const most = Math.max(1, ...tasksByHost.map(([, count]) => count));
  if (Number.isInteger(portBase) && (portBase as number) >= 1 && (portBase as number) + most - 1 <= 65_535) return;
  throw wrongValue(
    `portBase must be at least 1 and leave a port below 65536 for each of the ${most} tasks of a node`,
    portBase,
  );
}

function requireWhole(name: string, value: unknown, least: number): void {
  if (Number.isInteger(value) && (value as number) >= least) return;
  throw wrongValue(`${name} must be a whole number, ${least} or more`, value);
}

function requireAllInJobs(jobs: Readonly<Record<string, number>>, tasks: number): void {
  for (const [job, count] of Object.entries(jobs)) requireWhole(`jobs: ${job}`, count, 0);
  const wanted = Object.values(jobs).reduce((sum, count) => sum + count, 0);
  if (wanted === tasks) return;
  const message = `the jobs ${Object.keys(jobs).join(', ')} have ${wanted} tasks, but Slurm started ${tasks}`;
  throw new RuntimeError('ERR_COLL_CLUSTER', `${message}: list all tasks in jobs`);
}

/**
 * For each job, sorted by name: the index of its first task among all tasks, and its number of
 * tasks.
 */
function startsOf(jobs: Readonly<Record<string, number>>) {
  let next = 0;
  return Object.entries(jobs)
    .toSorted(([a], [b]) => compare(a, b))
    .map(([job, count]) => {
      next += count;
      return { job, first: next - count, count };
    });
}

function textOf(name: string, variables: Environment): string {
  const value = variables[name];
  if (typeof value === 'string' && value !== '') return value;
  throw missing(`the environment variable ${name} is not set`);
}

function numberOf(name: string, variables: Environment): number {
  return wholeNumber(name, textOf(name, variables));
}

function missing(message: string): RuntimeError {
  return new RuntimeError('ERR_COLL_CLUSTER', `${message}; start the program with srun, inside an allocation`);
}
