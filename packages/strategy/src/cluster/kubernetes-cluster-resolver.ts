import { optionsOf, quote, RuntimeError, ValueError } from '@coll/core';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions } from './cluster-resolver.js';
import { ClusterSpec } from './cluster-spec.js';
import { type KubernetesClient, kubernetesClient } from './kubernetes-client.js';

/** Which pods make up the cluster, how they are reached (by `grpc` unless said otherwise), and which task this process is: Kubernetes does not know. */
export interface KubernetesOptions extends TaskOptions {
  /** The label selectors of each job's pods. Default: `{ worker: ['job-name=tensorflow'] }`. */
  readonly jobToLabelMapping?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The port on which every pod is reached. Default: 8470. */
  readonly serverPort?: number | undefined;
  /** Lists pods. Default: the API server of the cluster that this process runs in. */
  readonly client?: KubernetesClient | undefined;
}

/** The pods of a Kubernetes cluster that have certain labels, by name, as they were when it was made. */
export class KubernetesClusterResolver extends ClusterResolver {
  taskType: string | undefined;
  taskId: number | undefined;
  readonly rpcLayer: string | undefined;
  readonly #cluster: ClusterSpec;

  private constructor(cluster: ClusterSpec, { taskType, taskId, rpcLayer = 'grpc' }: KubernetesOptions) {
    super();
    this.#cluster = cluster;
    this.taskType = taskType;
    this.taskId = taskId;
    this.rpcLayer = rpcLayer;
  }

  /** Asks for the pods. @throws RuntimeError for a pod that is not running, and where no API server answers */
  static async create(given?: KubernetesOptions): Promise<KubernetesClusterResolver> {
    const options = optionsOf(given, "{ taskType: 'worker', taskId: 0 }");
    const { jobToLabelMapping = { worker: ['job-name=tensorflow'] }, serverPort = 8470 } = options;
    const client = options.client ?? kubernetesClient();
    const jobs: Record<string, string[]> = {};
    for (const [job, selectors] of Object.entries(jobToLabelMapping)) {
      requireSelectors(job, selectors);
      const lists = await Promise.all(selectors.map((selector) => client.listPods(selector)));
      const pods = lists.flatMap((list) => list.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))));
      const odd = pods.find(({ phase }) => phase !== 'Running');
      if (odd) {
        const told = `pod ${odd.name} of job ${job} is not running, but ${odd.phase}`;
        throw new RuntimeError('ERR_COLL_CLUSTER', `${told}: wait until all pods run, then create the resolver`);
      }
      jobs[job] = pods.map(({ hostIP }) => `${hostIP.includes(':') ? `[${hostIP}]` : hostIP}:${serverPort}`);
    }
    return new KubernetesClusterResolver(new ClusterSpec(jobs), options);
  }

  clusterSpec(): ClusterSpec {
    return this.#cluster;
  }

  master({ taskType = this.taskType, taskId = this.taskId, rpcLayer = this.rpcLayer }: TaskOptions = {}): string {
    if (taskType === undefined || taskId === undefined) return '';
    return masterUrl(this.#cluster.taskAddress(taskType, taskId), rpcLayer);
  }

  numAccelerators(): Accelerators {
    return {};
  }
}

function requireSelectors(job: string, selectors: unknown): void {
  if (Array.isArray(selectors)) return;
  const told = `jobToLabelMapping has a list of label selectors for each job, { ${job}: ['app=train'] }`;
  throw new ValueError('ERR_COLL_CLUSTER', `${told}, not ${quote(selectors)}`);
}
