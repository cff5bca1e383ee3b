import type { Collective, Communicator, DType, Group, RunOptions, Tensor } from '@coll/core';
import { allRanks } from '@coll/core/internal';
import { JoiningCommunicator, refusedCollective } from '@coll/core/plugin';
import { refusedByNccl } from './element-types.js';
import { blocksNoThread } from './failures.js';
import { gpuIndex } from './gpu-memory.js';
import { NcclCommunicator, type NcclOptions } from './nccl-communicator.js';
import type { Passage } from './passage.js';

/** Ranks with a GPU each, of which some may be in other processes. */
export interface GpuGroup {
  readonly size: number;
  readonly localRanks: readonly number[];
  /** Several collectives as one group call. */
  runTogether(passages: readonly Passage[], options?: RunOptions): Promise<void>;
}

/** Who combines values that have a component on each of some GPUs. */
export interface GpuRanks {
  of(devices: readonly string[]): Promise<GpuGroup>;
  /** Hands on what every process has told, in their order, and the group for what comes of it, after which calls begin that are made later. */
  meet<Result>(
    devices: readonly string[],
    line: string,
    options: RunOptions,
    then: (told: readonly string[], open: () => Promise<GpuGroup>) => Promise<Result>,
  ): Promise<Result>;
  close(): Promise<void>;
}

/** A communicator for each list of GPUs that values live on, all of this process, opened when the first such value comes. */
export class GpuGroups implements GpuRanks {
  readonly #options: NcclOptions;
  readonly #groups = new Map<string, Promise<NcclCommunicator>>();

  constructor(options: NcclOptions) {
    this.#options = options;
  }

  /** @throws CollError where there is no NCCL; ValueError for what are no GPUs of this process, or one of them twice */
  async of(devices: readonly string[]): Promise<NcclCommunicator> {
    const key = devices.map(gpuIndex).join();
    const known = this.#groups.get(key) ?? NcclCommunicator.open(devices, { name: `gpus ${key}`, ...this.#options });
    this.#groups.set(key, known);
    try {
      return await known;
    } catch (error) {
      this.#groups.delete(key);
      throw error;
    }
  }

  /** All is here: nobody is waited for. */
  meet<Result>(
    devices: readonly string[],
    line: string,
    _options: RunOptions,
    then: (told: readonly string[], open: () => Promise<GpuGroup>) => Promise<Result>,
  ): Promise<Result> {
    return then([line], () => this.of(devices));
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#groups.values());
    const open = opened.flatMap((group) => (group.status === 'fulfilled' ? [group.value] : []));
    await Promise.all(open.map((group) => group.close()));
  }
}

/** Ranks that are all here, on the GPUs that their tensors name. */
export class GroupedCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #groups: GpuGroups;
  readonly #engine: Communicator;

  /** `engine` serves blocking calls of a rank that is alone. */
  constructor(size: number, groups: GpuGroups, engine: Communicator) {
    super();
    this.#engine = engine;
    this.group = engine.group;
    this.size = size;
    this.localRanks = allRanks(size);
    this.#groups = groups;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return refusedCollective(collective, dtype, this.size) ?? refusedByNccl(collective, dtype);
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): Promise<void> {
    const group = await this.#groups.of(inputs.map(({ device }) => device));
    await group.run(collective, inputs, outputs, options);
  }

  protected runWholeSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): void {
    if (this.size > 1) throw blocksNoThread(collective);
    this.#engine.runSync(collective, inputs, outputs, options);
  }

  /** The groups belong to the ops, which have one of these for each number of components. */
  close(): Promise<void> {
    return this.#engine.close();
  }
}
