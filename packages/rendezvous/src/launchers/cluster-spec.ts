import { ValueError, WrongTypeError } from '@coll/core';
import { quote } from '@coll/core/internal';

/**
 * Addresses of a job's tasks: a list indexed by task number, or a mapping if some numbers are
 * missing.
 */
export type JobTasks = readonly string[] | Readonly<Record<number, string>>;

/** The addresses of all tasks by job, each such as `host:port`. */
export type ClusterDescription = Readonly<Record<string, JobTasks>>;

/**
 * The jobs of a cluster and the addresses of their tasks.
 *
 * @example
 * ```ts
 * import { ClusterSpec } from '@coll/strategy';
 *
 * const cluster = new ClusterSpec({ chief: ['host0:4000'], worker: ['host1:4000', 'host2:4000'] });
 * console.log(cluster.jobs, cluster.numTasks('worker')); // [ 'chief', 'worker' ] 2
 * console.log(cluster.taskAddress('worker', 1)); // host2:4000
 * ```
 */
export class ClusterSpec {
  readonly #jobs = new Map<string, ReadonlyMap<number, string>>();

  /**
   * @throws WrongTypeError unless `cluster` is a cluster description; ValueError for a task number
   * that is not a whole number, 0 or more
   */
  constructor(cluster: ClusterDescription | ClusterSpec = {}) {
    const description = cluster instanceof ClusterSpec ? cluster.asDescription() : cluster;
    if (!isRecord(description)) throw notACluster(cluster);
    for (const [job, tasks] of Object.entries(description)) this.#jobs.set(job, tasksOf(job, tasks));
  }

  /** The names of the jobs, sorted. */
  get jobs(): readonly string[] {
    return [...this.#jobs.keys()].sort();
  }

  /** Whether there are no jobs, as for a single process. */
  get isEmpty(): boolean {
    return this.#jobs.size === 0;
  }

  /** Number of tasks of a job. @throws ValueError for an unknown job */
  numTasks(job: string): number {
    return this.#tasks(job).size;
  }

  /** The indices of a job's tasks, in ascending order. @throws ValueError for an unknown job */
  taskIndices(job: string): readonly number[] {
    return [...this.#tasks(job).keys()].sort((a, b) => a - b);
  }

  /** The address of a task. @throws ValueError for an unknown job or task */
  taskAddress(job: string, index: number): string {
    const address = this.#tasks(job).get(index);
    if (address !== undefined) return address;
    throw new ValueError('ERR_COLL_CLUSTER', `job ${quote(job)} has no task ${index}; it has ${this.taskIndices(job)}`);
  }

  /**
   * The addresses of a job's tasks, indexed by task number; undefined for numbers without a task.
   * @throws ValueError for an unknown job
   */
  jobTasks(job: string): readonly (string | undefined)[] {
    const tasks = this.#tasks(job);
    return Array.from({ length: Math.max(-1, ...tasks.keys()) + 1 }, (_, index) => tasks.get(index));
  }

  /**
   * The cluster as plain data. The tasks of a job are a list if their numbers have no gaps, and a
   * mapping otherwise.
   */
  asDescription(): ClusterDescription {
    const dense = (job: string) => {
      const tasks = this.jobTasks(job);
      return tasks.includes(undefined) ? Object.fromEntries(this.#tasks(job)) : (tasks as readonly string[]);
    };
    return Object.fromEntries(this.jobs.map((job) => [job, dense(job)]));
  }

  /** The result of `asDescription`; `JSON.stringify` calls this. */
  toJSON(): ClusterDescription {
    return this.asDescription();
  }

  #tasks(job: string): ReadonlyMap<number, string> {
    const tasks = this.#jobs.get(job);
    if (tasks) return tasks;
    const known = this.isEmpty ? 'it has no jobs' : `it has ${this.jobs.join(', ')}`;
    throw new ValueError('ERR_COLL_CLUSTER', `the cluster has no job ${quote(job)}; ${known}`);
  }
}

function tasksOf(job: string, tasks: unknown): ReadonlyMap<number, string> {
  if (!isRecord(tasks) && !Array.isArray(tasks)) throw notACluster(tasks, job);
  return new Map(
    Object.entries(tasks).map(([key, address]) => {
      const index = Number(key);
      if (!(Number.isInteger(index) && index >= 0 && String(index) === key)) {
        throw new ValueError(
          'ERR_COLL_CLUSTER',
          `job ${quote(job)}: the number of a task must be a whole number, 0 or more, got ${quote(key)}`,
        );
      }
      if (typeof address !== 'string') throw notACluster(tasks, job);
      return [index, address];
    }),
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notACluster(given: unknown, job?: string): WrongTypeError {
  const example = "{ worker: ['host-a:2222', 'host-b:2222'] }";
  const odd = job === undefined ? quote(given) : `job ${quote(job)}: ${quote(given)}`;
  return new WrongTypeError(
    `a cluster must be an object with the addresses of each job's tasks, ${example}, got ${odd}`,
  );
}
