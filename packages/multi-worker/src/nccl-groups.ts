import {
  type Communicator,
  type CrossDeviceOps,
  communicatorOf,
  type Engine,
  hierarchical,
  registry,
} from '@coll/core';
import { PackRunner } from '@coll/core/executor';
import type { Algorithm } from '@coll/core/schedule';
import { acrossAlgorithm } from './spec-algorithm.js';
import type { SpecChoice } from './spec-fit.js';
import type { Workers } from './workers.js';

/** A group that NCCL reduces in, alone or as the first of two levels. */
interface NcclGroup {
  readonly communicator: Communicator;
  readonly runner: PackRunner;
}

/** The groups in which whatever is registered as `nccl` takes part; opened when they are first needed. */
export class NcclGroups {
  readonly #engine: () => Engine;
  readonly #connect: ((algorithm: Algorithm) => Communicator) | undefined;
  readonly #groups = new Map<string, Promise<NcclGroup>>();
  #nccl: Promise<CrossDeviceOps> | undefined;
  #opened: CrossDeviceOps | undefined;

  /** `engine` plays what goes across workers that are all here; `connect` opens what goes from this one to others. */
  constructor(engine: () => Engine, connect?: (algorithm: Algorithm) => Communicator) {
    this.#engine = engine;
    this.#connect = connect;
  }

  /** @throws CollError where nothing is registered as `nccl`, or what is refuses these devices */
  async group(choice: SpecChoice, workers: Workers, devices: readonly string[]): Promise<PackRunner> {
    const key = `${choice.alg} ${devices.join()}`;
    const opened = this.#groups.get(key) ?? this.#open(choice, workers, devices);
    this.#groups.set(key, opened);
    try {
      return (await opened).runner;
    } catch (error) {
      // What is missing now may be registered later.
      this.#groups.delete(key);
      throw error;
    }
  }

  /** Its ops. @throws CollError where nothing is registered as `nccl`, or what is refuses these devices */
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

  /** What the ops of NCCL did otherwise than asked. */
  get notes(): readonly string[] {
    return this.#opened?.explain().notes ?? [];
  }

  async close(): Promise<void> {
    const groups = await Promise.allSettled(this.#groups.values());
    for (const group of groups) if (group.status === 'fulfilled') await group.value.communicator.close();
    const nccl = await this.#nccl?.catch(() => undefined);
    await nccl?.close();
  }

  async #open(choice: SpecChoice, workers: Workers, devices: readonly string[]): Promise<NcclGroup> {
    const communicator = await this.#communicatorOf(choice, workers, devices);
    return { communicator, runner: new PackRunner(communicator) };
  }

  async #communicatorOf(choice: SpecChoice, workers: Workers, devices: readonly string[]): Promise<Communicator> {
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
