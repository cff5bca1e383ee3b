import {
  CrossDeviceOps,
  type EngineName,
  type EngineRequest,
  type Explanation,
  type PluginRequest,
  type Registry,
  type Resolution,
  regroup,
  type Structure,
  registry as sharedRegistry,
  ValueError,
} from '@coll/core';
import { knownOptions, optionsOf, requireCheckResults, requireRegistry } from '@coll/core/internal';
import type { Machine } from '@coll/native/machine';
import { mirroredDevices } from '../choice/mirrored-devices.js';
import { OpsChoice, servesSeveralTasks } from '../choice/ops-choice.js';
import { StrategyLog } from '../choice/strategy-log.js';
import { availableCores, findMachine } from '../host.js';
import { runLocalReplicas } from '../replicas/local-replicas.js';
import { componentOf, requireModule, requireNoThreads } from '../replicas/replica-code.js';
import { requireCrossReplica } from '../scope/contexts.js';
import { argumentsOf, type RunOptions } from '../scope/run-options.js';
import { type ReplicaCode, Strategy, type StrategyExtended } from '../scope/strategy.js';
import { KeptThreads } from '../threads/kept-threads.js';
import { ReplicaThreads } from '../threads/replica-threads.js';
import { DistributedExtended } from './distributed-extended.js';

/** Options of a `MirroredStrategy`, all optional. */
export interface MirroredStrategyOptions {
  /**
   * The devices, with one replica on each. All must belong to one task, unless the ops support
   * several tasks, as `multi-worker` does. Default: one logical CPU device per core.
   */
  readonly devices?: readonly string[];
  /**
   * An ops object, a plug-in, `{ name, options }`, a name, or `'auto'`: the registered plug-in with
   * the highest priority that serves these devices. Default: `'auto'`; for devices of several types
   * `'reduction-to-one'`.
   */
  readonly crossDeviceOps?: CrossDeviceOps | PluginRequest;
  /**
   * The engine for the arithmetic: `'native'`, `'wasm'`, `'js'`, or `'auto'`, which is the fastest
   * one that works on this platform. Default: `'auto'`.
   */
  readonly engine?: EngineRequest;
  /** The registry for names. Default: the registry of this realm. */
  readonly registry?: Registry;
  /**
   * 100: replicas compare a 64-bit hash of every 100th result that all of them get (of all-reduce,
   * broadcast and all-gather). A difference, such as by damaged memory, is an InternalError that names
   * the first replica that differs. Refused with an ops object. Default: 0, which compares nothing.
   */
  readonly checkResults?: number;
}

const mirroredStrategyOptions = knownOptions<MirroredStrategyOptions>('MirroredStrategy', {
  devices: true,
  crossDeviceOps: true,
  engine: true,
  registry: true,
  checkResults: true,
});

export interface StrategyExplanation extends Explanation {
  /**
   * The plug-ins that were considered, highest priority first, and why each was or was not chosen;
   * empty if an ops object was given.
   */
  readonly candidates: Resolution['candidates'];
  /**
   * The engine of replicas in worker threads; `engine` is the engine of replicas in this thread.
   * Undefined if an ops object was given.
   */
  readonly threadEngine: EngineName | undefined;
  /** The cores, NUMA nodes and caches that were found for this process. */
  readonly machine: Machine;
}

/**
 * Synchronous training on the devices of one machine. Every replica runs the same code on its share
 * of the data, and collectives combine the gradients. Replicas are async functions in this thread,
 * or a module in one worker thread each. The threads are started by the first run and kept until
 * the strategy is closed, with the state of their modules.
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const sums = await strategy.run((replica) => {
 *   const gradient = new Float32Array([replica.replicaIdInSyncGroup, 1]);
 *   return replica.allReduce('sum', gradient);
 * });
 * console.log(strategy.experimentalLocalResults(sums)[0]?.data); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export class MirroredStrategy extends Strategy {
  override readonly extended: StrategyExtended;
  readonly #choice: OpsChoice;
  readonly #checkResults: number;
  readonly #log = new StrategyLog('MirroredStrategy');
  readonly #threads = new KeptThreads((module) => this.#startThreads(module));

  /**
   * @throws AssertionError for an empty list of devices or a duplicate; ValueError for devices of
   * other jobs, and invalid options; CollError for an unknown plug-in, or an engine that does not
   * work on this platform
   */
  constructor(options?: MirroredStrategyOptions) {
    super();
    const given = optionsOf(
      options,
      "new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: 'ring' })",
      mirroredStrategyOptions,
    );
    const { crossDeviceOps, engine = 'auto', registry = sharedRegistry, checkResults = 0 } = given;
    requireRegistry(registry);
    requireCheckable(checkResults, crossDeviceOps);
    this.#checkResults = checkResults;
    const severalTasks = servesSeveralTasks(crossDeviceOps, registry);
    const names = mirroredDevices(given.devices, { severalTasks });
    this.#choice = new OpsChoice({ request: crossDeviceOps, registry, devices: names, engine, checkResults });
    this.extended = new DistributedExtended(this, names, () => {
      this.#logOpened();
      return this.#choice.ops();
    });
  }

  protected override async runReplicas(
    replica: ReplicaCode<never, unknown>,
    options: RunOptions = {},
  ): Promise<unknown> {
    requireCrossReplica(this, 'run');
    const args = argumentsOf(options);
    const argsOf = (id: number) => args.map((arg) => componentOf(arg, id));
    let results: unknown[];
    if (typeof replica === 'function') {
      requireNoThreads(options);
      this.#logOpened();
      results = await runLocalReplicas({ strategy: this, fn: replica, argsOf, options });
    } else {
      requireModule(replica);
      const step = { module: replica, argsOf, options };
      results = await (options.threads === 'own' ? this.#threads.runOwn(step) : this.#threads.run(step));
    }
    return regroup(results as Structure<unknown>[], { wrapNumbers: true });
  }

  /** Explains which cross-device ops serve this strategy, and why. */
  async explain(): Promise<StrategyExplanation> {
    const ops = await this.#choice.ops();
    const threadEngine = this.#choice.engine?.engine.name;
    const candidates = await this.#choice.candidates();
    return { ...ops.explain(), threadEngine, machine: findMachine(), candidates };
  }

  /**
   * Waits for runs of modules, and ends their threads. Closes the cross-device ops that this
   * strategy opened, but not those that were passed in.
   */
  async close(): Promise<void> {
    const replicas = await this.#threads.close();
    await this.#choice.close();
    this.#log.close(replicas.length > 0 ? replicas : [this.#choice.counts.figures]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Logs that replicas in this thread are in use, once their plug-in is found. A plug-in that fails is reported by the call. */
  #logOpened(): void {
    const { given } = this.#choice;
    if (given) this.#logUse('one thread', given.name, given.explain().engine);
    else
      this.#choice.here().then(
        ({ plugin }) => this.#logUse('one thread', plugin.name),
        () => {},
      );
  }

  #logUse(replicasIn: 'one thread' | 'threads', ops: string, given = 'unknown'): void {
    const { workerDevices: devices } = this.extended;
    const { name: engine, simd } = this.#choice.engine?.engine ?? { name: given, simd: undefined };
    const coresPerReplica = availableCores() / devices.length;
    this.#log.open({ replicas: devices.length, replicasIn, devices, ops, engine, simd, coresPerReplica });
  }

  async #startThreads(module: URL): Promise<ReplicaThreads> {
    const { plugin, options, engine } = await this.#choice.isolated();
    const { workerDevices: devices, firstReplica } = this.extended;
    const setup = { plugin: { name: plugin.name, module: plugin.module, options }, checkResults: this.#checkResults };
    const threads = new ReplicaThreads({ engine, devices, firstReplica, setup }, module);
    this.#logUse('threads', plugin.name);
    return threads;
  }
}

/** @throws ValueError unless `checkResults` is a whole number, 0 or more, and 0 for an ops object */
function requireCheckable(checkResults: number, ops: MirroredStrategyOptions['crossDeviceOps']): void {
  requireCheckResults(checkResults);
  if (checkResults === 0 || !(ops instanceof CrossDeviceOps)) return;
  const advice = 'pass its plug-in, { name, options } or a registered name instead';
  throw new ValueError(
    'ERR_COLL_VALUE',
    `checkResults needs ops that the strategy creates, got an ops object: ${advice}`,
  );
}
