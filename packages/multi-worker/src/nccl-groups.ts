import {
  type Communicator,
  type CrossDeviceOps,
  communicatorOf,
  type Engine,
  hierarchical,
  registry,
} from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';
import { acrossAlgorithm } from './compat/spec-algorithm.js';
import type { SpecChoice } from './compat/spec-fit.js';
import type { Workers } from './workers.js';

/** Communicators that use the plug-in registered as `nccl`. They are opened on first use. */
export class NcclGroups {
  readonly #engine: () => Engine;
  readonly #connect: ((algorithm: Algorithm) => Communicator) | undefined;
  readonly #groups = new Map<string, Promise<Communicator>>();
  #nccl: Promise<CrossDeviceOps> | undefined;
  #opened: CrossDeviceOps | undefined;

  /**
   * `engine` executes the part across workers if all workers are in this process. `connect` opens a
   * communicator across the workers if they are processes.
   */
  constructor(engine: () => Engine, connect?: (algorithm: Algorithm) => Communicator) {
    this.#engine = engine;
    this.#connect = connect;
  }

  /**
   * The communicator that executes an entry of an all-reduce specification with NCCL.
   * @throws CollError if nothing is registered as `nccl`, or the plug-in refuses these devices
   */
  async group(choice: SpecChoice, workers: Workers, devices: readonly string[]): Promise<Communicator> {
    const key = `${choice.alg} ${devices.join()}`;
    const opened = this.#groups.get(key) ?? this.#open(choice, workers, devices);
    this.#groups.set(key, opened);
    try {
      return await opened;
    } catch (error) {
      // A missing plug-in may be registered later.
      this.#groups.delete(key);
      throw error;
    }
  }

  /**
   * The cross-device ops of NCCL.
   * @throws CollError if no plug-in is registered as `nccl`, or the plug-in refuses these devices
   */
  async ops(devices: readonly string[]): Promise<CrossDeviceOps> {
    const { plugin } = await registry.resolve('nccl', { devices });
    this.#nccl ??= Promise.resolve(plugin.create(undefined));
    try {
      this.#opened = await this.#nccl;
      return this.#opened;
    } catch (error) {
      this.#nccl = undefined;
      throw error;
    }
  }

  /** Notes on how NCCL's ops deviate from the request. */
  get notes(): readonly string[] {
    return this.#opened?.explain().notes ?? [];
  }

  async close(): Promise<void> {
    const groups = await Promise.allSettled(this.#groups.values());
    for (const group of groups) if (group.status === 'fulfilled') await group.value.close();
    const nccl = await this.#nccl?.catch(() => undefined);
    await nccl?.close();
  }

  async #open(choice: SpecChoice, workers: Workers, devices: readonly string[]): Promise<Communicator> {
    const nccl = await this.ops(devices);
    const algorithm = acrossAlgorithm(choice, workers);
    if (!algorithm) return communicatorOf(nccl, devices);
    if (this.#connect) return hierarchical([communicatorOf(nccl, devices)], this.#connect(algorithm));
    const perWorker = devices.length / workers.workers;
    const within = Array.from({ length: workers.workers }, (_, worker) =>
      communicatorOf(nccl, devices.slice(worker * perWorker, (worker + 1) * perWorker)),
    );
    return hierarchical(within, this.#engine().communicator(workers.workers, algorithm));
  }
}
