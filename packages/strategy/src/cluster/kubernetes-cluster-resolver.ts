import { RuntimeError } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { ClusterSpec, wrongValue } from '@coll/rendezvous/internal';
import type { KubernetesClient, Pod } from '../node/kubernetes-client.js';
import { type Accelerators, ClusterResolver, masterUrl, type TaskOptions, taskOptions } from './cluster-resolver.js';

/**
 * Selects the pods of the cluster and their addresses, and names the task of this process, which
 * Kubernetes does not report. The default of `rpcLayer` is `grpc`.
 */
export interface KubernetesOptions extends TaskOptions {
  /** The label selectors of each job's pods. Default: `{ worker: ['job-name=tensorflow'] }`. */
  readonly jobToLabelMapping?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The port of every pod. Default: 8470. */
  readonly serverPort?: number | undefined;
  /**
   * The address to use for a pod: the pod's own address, or the address of its host. The host's
   * address works only for pods with `hostNetwork`. Default: `'podIP'`, or the host's address for
   * pods without a `podIP`.
   */
  readonly address?: 'podIP' | 'hostIP' | undefined;
  /** Lists pods. Default: the API server of this process's cluster. */
  readonly client?: KubernetesClient | undefined;
}

const kubernetesOptions = knownOptions<KubernetesOptions>('KubernetesClusterResolver', {
  taskType: true,
  taskId: true,
  rpcLayer: true,
  jobToLabelMapping: true,
  serverPort: true,
  address: true,
  client: true,
});

/**
 * The pods of a Kubernetes cluster with certain labels, sorted by name, as they were when the
 * resolver was created.
 *
 * @example
 * ```ts
 * import { type KubernetesClient, KubernetesClusterResolver } from '@coll/strategy';
 *
 * // Without a client, the pods are listed by the API server of this process's cluster.
 * const pod = { name: 'worker-0', phase: 'Running', hostIP: '10.0.0.1', podIP: '10.1.0.1' };
 * const client: KubernetesClient = { listPods: async () => [pod] };
 * const resolver = await KubernetesClusterResolver.create({ client, serverPort: 4000 });
 * console.log(resolver.clusterSpec().taskAddress('worker', 0)); // 10.1.0.1:4000
 * ```
 */
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

  /**
   * Lists the pods.
   * @throws RuntimeError if a pod is not running or has no address, or pods cannot be listed;
   * ValueError for invalid options or an invalid result of the client
   */
  static async create(given?: KubernetesOptions): Promise<KubernetesClusterResolver> {
    const options = optionsOf(given, "{ taskType: 'worker', taskId: 0 }", kubernetesOptions);
    const { jobToLabelMapping = { worker: ['job-name=tensorflow'] }, serverPort = 8470, address = 'podIP' } = options;
    const client = options.client ?? (await import('../node/kubernetes-client.js')).kubernetesClient();
    requireClient(client);
    requirePort(serverPort);
    if (address !== 'podIP' && address !== 'hostIP') throw wrongValue("address must be 'podIP' or 'hostIP'", address);
    const addressOf = ({ podIP, hostIP }: Pod) => (address === 'podIP' && podIP ? podIP : hostIP);
    requireSelectors(jobToLabelMapping);
    const jobs: Record<string, string[]> = {};
    for (const [job, selectors] of Object.entries(jobToLabelMapping)) {
      const lists = await Promise.all(selectors.map(async (selector) => podsOf(await client.listPods(selector))));
      const pods = lists.flatMap((list) => list.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))));
      const odd = pods.find((pod) => pod.phase !== 'Running' || !addressOf(pod));
      if (odd) {
        const state = odd.phase === 'Running' ? 'has no address' : `is not running, its phase is ${odd.phase}`;
        const message = `pod ${odd.name} of job ${job} ${state}`;
        throw new RuntimeError('ERR_COLL_CLUSTER', `${message}: wait until all pods run, then create the resolver`);
      }
      jobs[job] = pods.map(addressOf).map((ip) => `${ip.includes(':') ? `[${ip}]` : ip}:${serverPort}`);
    }
    return new KubernetesClusterResolver(new ClusterSpec(jobs), options);
  }

  clusterSpec(): ClusterSpec {
    return this.#cluster;
  }

  master(options?: TaskOptions): string {
    const { taskType = this.taskType, taskId = this.taskId, rpcLayer = this.rpcLayer } = taskOptions(options);
    if (taskType === undefined || taskId === undefined) return '';
    return masterUrl(this.#cluster.taskAddress(taskType, taskId), rpcLayer);
  }

  numAccelerators(): Accelerators {
    return {};
  }
}

function requireClient(client: unknown): void {
  if (typeof (Object(client) as Partial<KubernetesClient>).listPods === 'function') return;
  throw wrongValue('client must be { listPods: async (labelSelector) => [{ name, phase, hostIP }] }', client);
}

function requirePort(port: unknown): void {
  if (Number.isInteger(port) && Number(port) >= 1 && Number(port) < 2 ** 16) return;
  throw wrongValue('serverPort must be a port from 1 to 65535', port);
}

function requireSelectors(mapping: unknown): void {
  const isMapping = typeof mapping === 'object' && mapping !== null && !Array.isArray(mapping);
  if (isMapping && Object.values(mapping).every(Array.isArray)) return;
  const odd: unknown = isMapping ? Object.values(mapping).find((selectors) => !Array.isArray(selectors)) : mapping;
  throw wrongValue(
    "jobToLabelMapping must have a list of label selectors for each job, { worker: ['app=train'] }",
    odd,
  );
}

function podsOf(listed: readonly Pod[]): readonly Pod[] {
  const isList = Array.isArray(listed);
  if (isList && listed.every(isPod)) return listed;
  const odd: unknown = isList ? listed.find((pod) => !isPod(pod)) : listed;
  throw wrongValue('listPods of the client must return a list of pods, [{ name, phase, hostIP }]', odd);
}

function isPod(pod: unknown): boolean {
  const { name, phase, hostIP, podIP } = Object(pod) as Partial<Pod>;
  // A pod that is not scheduled yet has no address.
  return [name, phase, hostIP ?? name, podIP ?? name].every((text) => typeof text === 'string');
}
