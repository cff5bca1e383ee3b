import { availableParallelism } from 'node:os';
import {
  AssertionError,
  CrossDeviceOps,
  canonicalize,
  DeviceSpec,
  type Explanation,
  type PluginRequest,
  type Registry,
  type Resolution,
  RuntimeError,
  regroup,
  requireDistinct,
  type Structure,
  selectReplica,
  registry as sharedRegistry,
  ValueError,
} from '@coll/core';
import { requireCrossReplica } from './contexts.js';
import { StrategyExtended } from './extended.js';
import { runLocalReplicas } from './local-replicas.js';
import { findPlugin, requireKnown } from './ops-choice.js';
import { type ReplicaFunction, type RunOptions, requireArguments, Strategy } from './strategy.js';
import { runReplicaThreads } from './thread-replicas.js';

export interface MirroredStrategyOptions {
  /** One replica for each. Default: a logical CPU device for each core. */
  readonly devices?: readonly string[];
  /** An ops object, a plug-in, `{ name, options }`, a name, or `'auto'` (the default): the best registered one that serves these devices. */
  readonly crossDeviceOps?: CrossDeviceOps | PluginRequest;
  /** Where names are looked up. Default: the registry of this realm. */
  readonly registry?: Registry;
}

export interface StrategyExplanation extends Explanation {
  /** Who was asked for `'auto'`, the most wanted first, and why those before the chosen one refused. */
  readonly candidates: Resolution['candidates'];
}

/**
 * Synchronous training on the devices of one machine: every replica does the same on its share of the data, and gradients come
 * together by collectives. Replicas are async functions in this thread, or a module in a worker thread each.
 */
export class MirroredStrategy extends Strategy {
  override readonly extended: StrategyExtended;
  readonly #request: CrossDeviceOps | PluginRequest;
  readonly #registry: Registry;
  #resolution: Promise<Resolution> | undefined;
  #ops: Promise<CrossDeviceOps> | undefined;

  /** @throws AssertionError for no device or one twice; ValueError for devices of other jobs; CollError for an unknown plug-in */
  constructor({ devices, crossDeviceOps = 'auto', registry = sharedRegistry }: MirroredStrategyOptions = {}) {
    super();
    const names = (devices ?? Array.from({ length: availableParallelism() }, (_, core) => `cpu:${core}`)).map(
      (device) => canonicalize(device),
    );
    requireOneTask(names);
    requireKnown(crossDeviceOps, registry);
    this.#request = crossDeviceOps;
    this.#registry = registry;
    this.extended = new StrategyExtended(this, names, () => this.#openOps());
  }

  override async run(replica: ReplicaFunction<never> | URL, options: RunOptions = {}): Promise<Structure<unknown>> {
    requireCrossReplica(this, 'run');
    const { args = [], onReport } = options;
    requireArguments(args);
    const argsOf = (id: number) => selectReplica(id, args as Structure<unknown>) as readonly unknown[];
    const devices = this.extended.workerDevices;
    if (typeof replica === 'function') {
      const results = await runLocalReplicas({ strategy: this, devices, onReport }, replica, argsOf);
      return regroup(results as Structure<unknown>[]);
    }
    if (!(replica instanceof URL)) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        "run takes a function, or the URL of a module: new URL('./replica.js', import.meta.url)",
        { operation: 'run' },
      );
    }
    const { plugin, options: pluginOptions } = await this.#resolve('run with a module');
    const results = await runReplicaThreads({
      devices,
      plugin: { name: plugin.name, module: plugin.module, options: pluginOptions },
      module: replica,
      argsOf,
      options,
    });
    return regroup(results as Structure<unknown>[]);
  }

  /** Which cross-device ops serve this strategy, and why. */
  async explain(): Promise<StrategyExplanation> {
    const ops = await this.#openOps();
    const candidates = this.#request instanceof CrossDeviceOps ? [] : (await this.#resolve('explain')).candidates;
    return { ...ops.explain(), candidates };
  }

  /** Closes the cross-device ops that this strategy opened; those that were handed in are left open. */
  async close(): Promise<void> {
    if (!(this.#request instanceof CrossDeviceOps)) await (await this.#ops)?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #resolve(operation: string): Promise<Resolution> {
    if (this.#request instanceof CrossDeviceOps) {
      const told = `${operation}: an ops object cannot be sent to other threads; pass its plug-in, { name, options } or a registered name instead`;
      throw new RuntimeError('ERR_COLL_NOT_CLONEABLE', told, { operation });
    }
    this.#resolution ??= findPlugin(this.#request, this.#registry, this.extended.workerDevices);
    return this.#resolution;
  }

  #openOps(): Promise<CrossDeviceOps> {
    this.#ops ??= (async () => {
      if (this.#request instanceof CrossDeviceOps) return this.#request;
      const { plugin, options } = await this.#resolve('reduce');
      return plugin.create(options as never);
    })();
    return this.#ops;
  }
}

function requireOneTask(devices: readonly string[]): void {
  if (devices.length === 0)
    throw new AssertionError('ERR_COLL_DEVICE', 'a MirroredStrategy needs a device: devices can not be empty');
  requireDistinct(devices);
  const tasks = devices.map((device) => DeviceSpec.fromString(device).fields);
  const jobs = new Set(tasks.map(({ job }) => job));
  if (jobs.size > 1 && jobs.has('localhost')) {
    throw new ValueError(
      'ERR_COLL_DEVICE',
      `devices of localhost and of other jobs cannot be mixed: ${devices.join(', ')}`,
    );
  }
  if (new Set(tasks.map(({ job, task }) => `${job} ${task}`)).size > 1) {
    throw new RuntimeError(
      'ERR_COLL_DEVICE',
      `a MirroredStrategy serves the devices of one task, not ${devices.join(', ')}; several workers need MultiWorkerMirroredStrategy`,
    );
  }
}
