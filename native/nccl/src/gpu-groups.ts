import type { Collective, Communicator, DType, Group, RunOptions, Tensor } from '@coll/core';
import { allRanks } from '@coll/core/internal';
import { JoiningCommunicator, refusedCollective } from '@coll/core/plugin';
import { refusedByNccl } from './element-types.js';
import { blocksNoThread } from './failures.js';
import { gpuIndex } from './gpu-memory.js';
import { NcclCommunicator, type NcclOptions } from './nccl-communicator.js';
import type { Passage } from './passage.js';

/** A group of ranks with one GPU each; some ranks may be in other processes. */
export interface GpuGroup {
  readonly size: number;
  readonly localRanks: readonly number[];
  /** Executes several collectives as one group call. */
  runTogether(passages: readonly Passage[], options?: RunOptions): Promise<void>;
}

/** Opens the groups of GPUs over which the components of values are combined. */
export interface GpuRanks {
  of(devices: readonly string[]): Promise<GpuGroup>;
  /**
   * Sends `line` to all processes. When the lines of all processes have arrived, calls `then` with
   * these lines, in process order, and with a function that opens the group. Later calls begin once
   * `then` has ended.
   */
  meet<Result>(
    devices: readonly string[],
    line: string,
    options: RunOptions,
    then: (lines: readonly string[], open: () => Promise<GpuGroup>) => Promise<Result>,
  ): Promise<Result>;
  close(): Promise<void>;
}

/** One communicator per list of GPUs of this process, opened for the first value on these GPUs. */
export class GpuGroups implements GpuRanks {
  readonly #options: NcclOptions;
  readonly #groups = new Map<string, Promise<NcclCommunicator>>();

  constructor(options: NcclOptions) {
    this.#options = options;
  }

  /**
   * Returns the communicator for these GPUs; opens it at the first call.
   * @throws CollError if there is no NCCL; ValueError for a device that is not a GPU of this
   * process, or is listed twice
   */
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

  /** Calls `then` at once, because all ranks are in this process. */
  meet<Result>(
    devices: readonly string[],
    line: string,
    _options: RunOptions,
    then: (lines: readonly string[], open: () => Promise<GpuGroup>) => Promise<Result>,
  ): Promise<Result> {
    return then([line], () => this.of(devices));
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#groups.values());
    const open = opened.flatMap((group) => (group.status === 'fulfilled' ? [group.value] : []));
    await Promise.all(open.map((group) => group.close()));
  }
}

/**
 * A communicator whose ranks are all in this process. A call uses the GPUs on which its tensors
 * are.
 */
export class GroupedCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #groups: GpuGroups;
  readonly #engine: Communicator;

  /** Blocking calls throw if there are several ranks; with one rank, `engine` executes them. */
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

  /**
   * Closes the engine only: the GPU groups belong to the ops, which share them between
   * communicators.
   */
  close(): Promise<void> {
    return this.#engine.close();
  }
}
