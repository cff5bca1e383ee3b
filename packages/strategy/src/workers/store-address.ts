import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import {
  type Environment,
  generationFromEnvironment,
  howToSet,
  jobFromEnvironment,
  jobKeyFromEnvironment,
  launcherStore,
  processEnvironment,
  withoutScheme,
} from '@coll/rendezvous/internal';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import type { WorkerInfo } from './worker-info.js';

/** Settings that all members of a job share. `coll run` sets all of them in the environment. */
export interface JobOptions {
  /** The name of the job. Default: `COLL_JOB`, else `multi-worker`. */
  readonly job?: string | undefined;
  /**
   * The secret shared by all workers, as `coll key` makes it. Default: the text in the file
   * `COLL_JOB_KEY_FILE`, else `COLL_JOB_KEY`.
   */
  readonly jobKey?: string | undefined;
  /**
   * Index of this strategy in the job. Increase it by one for each strategy that replaces a failed
   * one. Default: `COLL_GENERATION`, else 0.
   */
  readonly generation?: number | undefined;
}

/**
 * The store for the rendezvous of the workers, and the settings with which they authenticate each
 * other.
 */
export interface StoreAddress extends Required<{ readonly [Key in keyof JobOptions]: NonNullable<JobOptions[Key]> }> {
  /** Address of the store: `tcp://host:port`. */
  readonly address: string;
  /** Whether worker 0 hosts the store, instead of a launcher. */
  readonly isOfWorker: boolean;
  /** Whether this worker hosts the store. */
  readonly isHere: boolean;
}

/** The address of this worker, and how long to wait for the launcher. */
interface MeetingOptions {
  readonly host?: string | undefined;
  readonly timeoutSeconds?: number | null | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The store hosted by a launcher (`COLL_STORE`), or else the one that the first worker hosts: at its
 * own address in the cluster, or where the variables of its launcher say.
 * @throws ValueError if there is no job key or no address
 */
export async function storeAddress(
  resolver: ClusterResolver,
  info: WorkerInfo,
  options: JobOptions & MeetingOptions,
  environment: Environment = processEnvironment(),
): Promise<StoreAddress> {
  const { jobKey = jobKeyFromEnvironment(environment), host, timeoutSeconds, signal } = options;
  const job = options.job ?? jobFromEnvironment(environment);
  const generation = options.generation ?? generationFromEnvironment(environment);
  const store = environment['COLL_STORE'];
  if (!store && resolver instanceof EnvironmentClusterResolver) {
    const { membership, variables } = resolver;
    const launched = await launcherStore({
      membership,
      environment: variables,
      host,
      job,
      jobKey,
      timeoutSeconds,
      signal,
    });
    return { job, generation, isOfWorker: true, ...launched };
  }
  if (!jobKey) {
    throw new ValueError('ERR_COLL_CLUSTER', `the workers have no job key: ${howToSet}`);
  }
  if (store) return { job, jobKey, generation, address: store, isOfWorker: false, isHere: false };
  const address = addressOfFirst(resolver);
  return { job, jobKey, generation, address, isOfWorker: true, isHere: info.idInCluster === 0 };
}

/**
 * The host in this worker's own address, at which other workers reach this worker; undefined if the
 * worker has no address.
 */
export function ownHost(resolver: ClusterResolver, { task }: WorkerInfo): string | undefined {
  const address = task && resolver.clusterSpec().taskAddress(task.taskType, task.taskId);
  return withoutScheme(address ?? '').match(/^\[?([^/]+?)\]?:\d+$/)?.[1];
}

function addressOfFirst(resolver: ClusterResolver): string {
  const cluster = resolver.clusterSpec();
  const job = ['chief', 'worker', 'evaluator'].find((name) => cluster.jobs.includes(name)) as string;
  const address = withoutScheme(cluster.taskAddress(job, 0));
  if (/:\d+$/.test(address) && URL.canParse(`tcp://${address}`)) return `tcp://${address}`;
  const advice = 'describe the cluster with addresses host:port, or set COLL_STORE to the address of a TcpStoreServer';
  const message = `all workers connect to the address of ${job} 0, which is ${address === '' ? 'not known' : quote(address)}`;
  throw new ValueError('ERR_COLL_CLUSTER', `${message}: ${advice}`);
}
