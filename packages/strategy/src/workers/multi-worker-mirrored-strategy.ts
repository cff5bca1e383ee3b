import {
  CommunicationOptions,
  type CommunicationOptionsInit,
  type CrossDeviceOps,
  canonicalize,
  type EngineRequest,
  type EngineResolution,
  type Explanation,
  type Link,
  type LinkSpeeds,
  type PluginRequest,
  type ProcessGroup,
  type Registry,
  RuntimeError,
  regroup,
  resolveEngine,
  type Structure,
  registry as sharedRegistry,
  tensor,
  ValueError,
} from '@coll/core';
import {
  environment,
  knownOptions,
  quote,
  requireCheckResults,
  requireKnownOptions,
  requireProcessGroup,
  requireRegistry,
  setLogOrigin,
} from '@coll/core/internal';
import type { Machine } from '@coll/native/machine';
import { OpsChoice } from '../choice/ops-choice.js';
import { StrategyLog } from '../choice/strategy-log.js';
import { ClusterResolver } from '../cluster/cluster-resolver.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { InputContext } from '../data/input-context.js';
import { availableCores, findMachine, ourEngines } from '../host.js';
import { runLocalReplicas } from '../replicas/local-replicas.js';
import { componentOf, requireModule, requireNoThreads } from '../replicas/replica-code.js';
import { requireCrossReplica } from '../scope/contexts.js';
import { argumentsOf, type RunOptions } from '../scope/run-options.js';
import { type ReplicaCode, Strategy } from '../scope/strategy.js';
import { KeptThreads } from '../threads/kept-threads.js';
import { ReplicaThreads, type Step } from '../threads/replica-threads.js';
import { defaultResolver } from './default-resolver.js';
import { MultiWorkerExtended } from './multi-worker-extended.js';
import { forDevices, ncclFor } from './nccl-for-devices.js';
import type { TransportOptions, WorkerConfig } from './open-worker-group.js';
import { hasGroupPlugin, openGroupByPlugin } from './plugin-groups.js';
import { type JobOptions, ownHost, storeAddress } from './store-address.js';
import { type OwnedGroup, WorkerCollectives } from './worker-collectives.js';
import { devicesOfAll, taskName, workerDevices } from './worker-devices.js';
import { type WorkerInfo, workerInfoOf } from './worker-info.js';
import { factsOf, tell } from './worker-lines.js';
import type { PluginGroupConfig, WorkerSetup } from './worker-messages.js';

const noGpus = 'NCCL was requested, but this worker has no GPUs: a ring is used instead';

/** Options of a `MultiWorkerMirroredStrategy`, all optional. */
export interface MultiWorkerMirroredStrategyOptions extends JobOptions, TransportOptions {
  /**
   * Lists the workers, and states which worker this process is. Default: a resolver for `TF_CONFIG`, or
   * for the variables of the launcher that started this process.
   */
  readonly clusterResolver?: ClusterResolver | undefined;
  /** Options of all collectives, or their fields; a call's options are merged into them. */
  readonly communicationOptions?: CommunicationOptions | CommunicationOptionsInit | undefined;
  /**
   * The devices of this worker, with one replica on each; all workers must have the same number of
   * devices. Default: the GPUs that the resolver counts, else one CPU.
   */
  readonly devices?: readonly string[] | undefined;
  /**
   * A plug-in, `{ name, options }`, a name, or `'auto'`, as for `MirroredStrategy`: its ops combine
   * dense values, within each worker and across workers. An ops object must combine the values of
   * all workers itself, as `MultiWorkerAllReduce` with a `group` does. All workers must pass the
   * same. Default: `CollectiveAllReduce`, which `communicationOptions` configure.
   */
  readonly crossDeviceOps?: CrossDeviceOps | PluginRequest | undefined;
  /** The registry for the name in `crossDeviceOps`. Default: the registry of this realm. */
  readonly registry?: Registry | undefined;
  /** The engine for the arithmetic within this worker. Default: `'auto'`. */
  readonly engine?: EngineRequest | undefined;
  /**
   * Seconds to wait until all workers have started; then a `RuntimeError` names the missing
   * workers. Null and 0 mean no limit. Default: 600.
   */
  readonly startupTimeoutSeconds?: number | null | undefined;
  /**
   * An open group of the workers, which the caller closes. Default: the strategy opens a group on
   * first use.
   */
  readonly group?: ProcessGroup | undefined;
}

const strategyOptions = knownOptions<MultiWorkerMirroredStrategyOptions>('MultiWorkerMirroredStrategy', {
  clusterResolver: true,
  communicationOptions: true,
  devices: true,
  crossDeviceOps: true,
  registry: true,
  engine: true,
  startupTimeoutSeconds: true,
  group: true,
  job: true,
  jobKey: true,
  generation: true,
  host: true,
  encrypt: true,
  insecure: true,
  transport: true,
  streams: true,
  heartbeatSeconds: true,
  checkResults: true,
});

/** The workers, this worker's links to the other workers, and the ops in use. */
export interface MultiWorkerExplanation extends Explanation {
  readonly workers: number;
  readonly worker: number;
  /** This worker's link to each other worker; empty for a single worker. */
  readonly links: readonly Link[];
  /** The measured speeds of the links between workers. Undefined for a single worker, and if none were measured. */
  readonly linkSpeeds: LinkSpeeds | undefined;
  /** The cores, NUMA nodes and caches that were found for this process. */
  readonly machine: Machine;
}

/**
 * Synchronous training on several workers, which are processes on one host or several, with a
 * replica on each device of each worker. All workers run the same program. Workers wait for each
 * other in their first common call, or in `await strategy.ready()`.
 *
 * A failure on one worker ends the group: all workers get an error that names that worker. To
 * continue, create a strategy with the next `generation`.
 *
 * @example
 * ```ts
 * import { MultiWorkerMirroredStrategy } from '@coll/strategy';
 *
 * // Without a launcher there is a single worker. For two: coll run -n 2 train.js
 * await using strategy = new MultiWorkerMirroredStrategy();
 * await strategy.ready();
 * const sums = await strategy.run((replica) => replica.allReduce('sum', new Float32Array([1])));
 * console.log(strategy.experimentalLocalResults(sums)[0]?.data); // Float32Array(1) [ 1 ]
 * ```
 */
export class MultiWorkerMirroredStrategy extends Strategy {
  override readonly extended: MultiWorkerExtended;
  readonly #resolver: ClusterResolver;
  readonly #info: WorkerInfo;
  readonly #collectives: WorkerCollectives;
  /** The ops that the user requested; undefined if none were requested. */
  readonly #choice: OpsChoice | undefined;
  readonly #engine: EngineResolution;
  readonly #options: MultiWorkerMirroredStrategyOptions;
  /** The options of all collectives. */
  readonly #communication: CommunicationOptions;
  /** Notes for `explain` about deviations from the requested options. */
  readonly #notes: readonly string[];
  /** How threads open their groups, if a plug-in has opened the group of workers. */
  #pluginConfig: PluginGroupConfig | undefined;
  readonly #threads = new KeptThreads((module) => this.#startThreads(module));
  readonly #log: StrategyLog;
  #replicasIn: 'one thread' | 'threads' = 'one thread';
  /** How often threads have been started. */
  #threadStarts = 0;

  /**
   * @throws ValueError for invalid options or resolvers, an inconsistent cluster, and devices of
   * other workers; AssertionError for an empty list of devices or a duplicate; RuntimeError if a
   * launcher does not report the number of workers
   */
  constructor(options: MultiWorkerMirroredStrategyOptions = {}) {
    super();
    requireOptions(options);
    const { clusterResolver = defaultResolver() } = options;
    const communicationOptions = new CommunicationOptions(options.communicationOptions);
    this.#resolver = clusterResolver;
    this.#options = options;
    this.#info = workerInfoIn(clusterResolver, options.group);
    this.#engine = resolveEngine(options.engine ?? 'auto', ourEngines);
    const devices = workerDevices(options.devices, this.#info, clusterResolver);
    const host = canonicalize('cpu:0', taskName(this.#info));
    this.#communication = forDevices(communicationOptions, devices);
    this.#notes = this.#communication === communicationOptions ? [] : [noGpus];
    this.#choice = choiceOf(options, devicesOfAll(devices, this.#info), communicationOptions);
    if (this.#info.workers > 1) setLogOrigin({ worker: this.#info.idInCluster });
    this.#log = new StrategyLog('MultiWorkerMirroredStrategy', this.#info.idInCluster);
    tell(this.#info, clusterResolver, devices, communicationOptions, this.#notes);
    this.#collectives = new WorkerCollectives({
      workers: this.#info.workers,
      devices,
      host,
      communication: this.#communication,
      engine: this.#engine,
      choice: this.#choice,
      open: (signal) => this.#openGroup(signal),
    });
    this.extended = new MultiWorkerExtended(this, {
      worker: this.#info,
      devices,
      host,
      collectives: this.#collectives,
    });
  }

  override get clusterResolver(): ClusterResolver {
    return this.#resolver;
  }

  /** Number of replicas of all workers. */
  override get numReplicasInSync(): number {
    return this.numLocalReplicas * this.#info.workers;
  }

  /** One input pipeline per worker. */
  override get inputContext(): InputContext {
    return new InputContext({
      numInputPipelines: this.#info.workers,
      inputPipelineId: this.#info.idInCluster,
      numReplicasInSync: this.numReplicasInSync,
    });
  }

  protected override get numLocalReplicas(): number {
    return this.extended.workerDevices.length;
  }

  /**
   * Waits until all workers have arrived. Afterwards variables can be created.
   * @throws RuntimeError that names the missing workers after `startupTimeoutSeconds`; ValueError
   * without a job key; the errors of `openProcessGroup`
   */
  async ready(): Promise<void> {
    await this.#collectives.ready();
    await this.#logOpened();
  }

  protected override async runReplicas(
    replica: ReplicaCode<never, unknown>,
    options: RunOptions = {},
  ): Promise<unknown> {
    requireCrossReplica(this, 'run');
    const args = argumentsOf(options);
    const argsOf = (place: number) => args.map((arg) => componentOf(arg, place));
    if (typeof replica === 'function') requireNoThreads(options);
    else {
      this.#requireThreads(replica);
      this.#replicasIn = 'threads';
    }
    await this.ready();
    const others = this.#info.workers > 1 ? this.#collectives : undefined;
    try {
      const results = await (typeof replica === 'function'
        ? runLocalReplicas({ strategy: this, fn: replica, argsOf, options })
        : this.#runThreads({ module: replica, argsOf, options, others }));
      return regroup(results as Structure<unknown>[], { wrapNumbers: true });
    } catch (error) {
      // Without this, the other workers would wait for this one, now or in a later call.
      this.#collectives.fail(error);
      throw error;
    }
  }

  /**
   * The cross-device ops that serve this strategy, and this worker's links to the other workers.
   */
  async explain(): Promise<MultiWorkerExplanation> {
    const ops = await this.#collectives.deviceOps();
    const { workers, idInCluster: worker } = this.#info;
    const explanation = ops.explain();
    const notes = [...this.#notes, ...explanation.notes];
    const { links, linkSpeeds } = this.#collectives;
    return { ...explanation, notes, workers, worker, links, linkSpeeds, machine: findMachine() };
  }

  /**
   * Waits for runs of modules and ends their threads, leaves the group of workers, and closes
   * everything this strategy opened. Calls that still wait for workers to start fail with a
   * RuntimeError (ERR_COLL_CLOSED).
   */
  async close(): Promise<void> {
    const replicas = await this.#threads.close();
    const figures = this.#collectives.figures;
    await this.#collectives.close();
    this.#log.close(replicas.length > 0 ? replicas : [figures]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #logOpened(): Promise<void> {
    const { workerDevices: devices } = this.extended;
    const own = { replicas: this.numReplicasInSync, replicasIn: this.#replicasIn, devices } as const;
    this.#log.open({
      ...own,
      ...(await factsOf(this.#collectives, this.#engine)),
      coresPerReplica: availableCores() / devices.length,
    });
  }

  #requireThreads(module: unknown): void {
    requireModule(module);
    if (!this.#options.group || this.#info.workers === 1) return;
    const message = 'a group that you passed cannot be sent to other threads';
    const advice = 'let the strategy open the group, or run a function';
    throw new RuntimeError('ERR_COLL_NOT_CLONEABLE', `run with a module: ${message}: ${advice}`, { operation: 'run' });
  }

  async #runThreads(step: Step): Promise<unknown[]> {
    const { threads } = step.options;
    const results = await (threads === 'own' ? this.#threads.runOwn(step) : this.#threads.run(step));
    // A run succeeds on all workers or on none.
    await this.#collectives.allReduceFor('worker end', 'MAX', tensor(0));
    return results;
  }

  async #startThreads(module: URL): Promise<ReplicaThreads> {
    const { workers, task } = this.#info;
    const { workerDevices: devices, firstReplica } = this.extended;
    this.#threadStarts += 1;
    // All groups of the workers are opened in the same way.
    if (workers > 1 && hasGroupPlugin()) await this.#collectives.ready();
    const groupConfig =
      this.#pluginConfig ?? (workers > 1 ? await this.#workerConfig(`threads/${this.#threadStarts}`) : undefined);
    const chosen = await this.#choice?.isolated();
    const setup: WorkerSetup = {
      cluster: this.#resolver.clusterSpec().asDescription(),
      task,
      groupConfig,
      communication: { ...this.#communication },
      crossDeviceOps: chosen && { name: chosen.plugin.name, module: chosen.plugin.module, options: chosen.options },
      nccl: ncclFor(devices),
    };
    return new ReplicaThreads({ engine: this.#engine.engine, devices, firstReplica, setup }, module);
  }

  async #openGroup(signal: AbortSignal): Promise<OwnedGroup> {
    const { group, checkResults } = this.#options;
    if (group) return { group, [Symbol.asyncDispose]: async () => {} };
    const isLaunched = this.#resolver instanceof EnvironmentClusterResolver;
    const byPlugin = isLaunched ? await openGroupByPlugin(this.#info, checkResults) : undefined;
    if (byPlugin) {
      this.#pluginConfig = byPlugin.config;
      return { group: byPlugin.group, [Symbol.asyncDispose]: () => byPlugin.group.close() };
    }
    const config = await this.#workerConfig('workers', signal);
    // Stores and connections are loaded only if they are needed.
    const { keepStore, openWorkerGroup } = await import('./open-worker-group.js');
    const server = await keepStore(config);
    try {
      const group = await openWorkerGroup(config, signal);
      const close = async () => {
        await group.close();
        await server?.close();
      };
      return { group, [Symbol.asyncDispose]: close };
    } catch (error) {
      await server?.close();
      throw error;
    }
  }

  async #workerConfig(scope: string, signal?: AbortSignal): Promise<WorkerConfig> {
    const {
      encrypt,
      insecure,
      transport,
      streams,
      heartbeatSeconds,
      checkResults,
      startupTimeoutSeconds = defaultStartupSeconds,
    } = this.#options;
    // COLL_HOST precedes an address that was found without being asked for.
    const host = this.#options.host ?? (environment('COLL_HOST') || ownHost(this.#resolver, this.#info));
    return {
      storeAddress: await storeAddress(this.#resolver, this.#info, {
        ...this.#options,
        timeoutSeconds: startupTimeoutSeconds,
        signal,
      }),
      rank: this.#info.idInCluster,
      size: this.#info.workers,
      transport: { host, encrypt, insecure, transport, streams, heartbeatSeconds, checkResults },
      startupTimeoutSeconds,
      scope,
    };
  }
}

// Long enough for machines that start one after the other, and for pulling container images.
const defaultStartupSeconds = 600;

/** @throws ValueError for invalid ops, and for ops together with NCCL, which would not use them */
function choiceOf(
  { crossDeviceOps: request, registry = sharedRegistry, engine = 'auto' }: MultiWorkerMirroredStrategyOptions,
  devices: readonly string[],
  { implementation }: CommunicationOptions,
): OpsChoice | undefined {
  requireRegistry(registry);
  if (request === undefined) return undefined;
  if (implementation === 'NCCL') {
    const message = "crossDeviceOps and communicationOptions: { implementation: 'NCCL' } exclude each other";
    throw new ValueError(
      'ERR_COLL_REFUSED',
      `MultiWorkerMirroredStrategy: ${message}: NCCL executes by itself; omit one`,
    );
  }
  return new OpsChoice({ request, registry, devices, engine });
}

function requireOptions(options: MultiWorkerMirroredStrategyOptions): void {
  const fail = (message: string) => new ValueError('ERR_COLL_VALUE', `MultiWorkerMirroredStrategy: ${message}`);
  if (typeof options !== 'object' || options === null || Array.isArray(options) || options instanceof ClusterResolver)
    throw fail(`the argument must be one object, { clusterResolver, communicationOptions }, got ${quote(options)}`);
  const { clusterResolver, communicationOptions, group, job, startupTimeoutSeconds = null, checkResults = 0 } = options;
  requireKnownOptions(options, strategyOptions);
  requireProcessGroup(group);
  requireCheckResults(checkResults);
  if (group && checkResults > 0)
    throw fail('checkResults is an option of the group that you passed: pass it to openProcessGroup');
  if (clusterResolver !== undefined && !(clusterResolver instanceof ClusterResolver))
    throw fail(`clusterResolver must be a ClusterResolver, got ${quote(clusterResolver)}`);
  if (communicationOptions !== undefined && (typeof communicationOptions !== 'object' || communicationOptions === null))
    throw fail(
      `communicationOptions must be CommunicationOptions or an object with its fields, got ${quote(communicationOptions)}`,
    );
  if (job !== undefined && typeof job !== 'string') throw fail(`job must be a string, got ${quote(job)}`);
  const isTime = typeof startupTimeoutSeconds === 'number' && startupTimeoutSeconds >= 0;
  if (!isTime && startupTimeoutSeconds !== null)
    throw fail(`startupTimeoutSeconds must be a number, 0 or more, or null, got ${quote(startupTimeoutSeconds)}`);
}

/** Which worker of the cluster this is, or of the open group if the resolver has no cluster. */
function workerInfoIn(resolver: ClusterResolver, group: ProcessGroup | undefined): WorkerInfo {
  const info = workerInfoOf(resolver);
  if (!group || (info.workers === group.size && info.idInCluster === group.rank)) return info;
  if (!info.task) {
    const task = { taskType: 'worker', taskId: group.rank };
    return { workers: group.size, idInCluster: group.rank, isChief: group.rank === 0, task };
  }
  const message = `worker ${info.idInCluster} of ${info.workers}, but the group that was passed has it as rank ${group.rank} of ${group.size}`;
  throw new ValueError('ERR_COLL_CLUSTER', `the cluster describes this process as ${message}`);
}
