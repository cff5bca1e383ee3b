import { type Communicator, type RunOptions, type Tensor, ValueError, type World } from '@coll/core';
import { hashOf, layoutOf } from '@coll/core/internal';
import { CallOrder } from '@coll/core/plugin';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import type { Exchange } from './connect.js';
import type { GpuGroup, GpuRanks } from './gpu-groups.js';
import { gpuIndex } from './gpu-memory.js';
import { NcclCommunicator, type NcclOptions } from './nccl-communicator.js';
import { lengthOfCall, sampleOf } from './operands.js';
import type { Passage } from './passage.js';

const bytesOfLength = 4;
const millisBetweenLooks = 100;

/**
 * The GPUs of several processes as one NCCL group, which is opened at first use. A world, in which
 * each process has the same number of ranks, distributes NCCL's unique id. If the world or the NCCL
 * group fails, the other one fails, too.
 */
export class ProcessGpus implements GpuRanks, GpuGroup {
  readonly #world: World;
  readonly #options: NcclOptions;
  #opened: Promise<NcclCommunicator> | undefined;
  /** The world's communicator, over which the processes exchange data. */
  #meeting: Communicator | undefined;
  /** Orders the calls that begin with an exchange between processes. */
  readonly #order = new CallOrder();

  constructor(world: World, options: NcclOptions) {
    this.#world = world;
    this.#options = options;
  }

  get size(): number {
    return this.#world.devices.length;
  }

  get localRanks(): readonly number[] {
    return this.#world.localRanks;
  }

  /** The GPUs of this process. */
  get devices(): readonly string[] {
    const { devices, localRanks } = this.#world;
    return localRanks.map((rank) => devices[rank] as string);
  }

  /**
   * Returns this group.
   * @throws ValueError unless `devices` are the GPUs of this process, in order
   */
  async of(devices: readonly string[]): Promise<this> {
    if (devices.map(gpuIndex).join() === this.devices.map(gpuIndex).join()) return this;
    const message = `values must have one component on each of [${this.devices.join(', ')}], the GPUs of this process, in this order`;
    throw new ValueError('ERR_COLL_DEVICE', `nccl: ${message}, got [${devices.join(', ')}]`);
  }

  /**
   * Resolves when the group is open or has failed to open; at once if nothing has started to open
   * the group.
   */
  async settled(): Promise<void> {
    await this.#order.start(async () => {});
    await this.#opened?.catch(() => undefined);
  }

  /**
   * Executes several collectives as one group call.
   * @throws ValueError for invalid operands, on all processes; other errors end the group for all
   * processes
   */
  async runTogether(passages: readonly Passage[], options: RunOptions = {}): Promise<void> {
    if (options.checkCalls) return this.#order.hold(() => this.#execute(passages, options));
    // Starts at once if no call is held back, so that the group opens before later calls.
    if (!this.#order.isHeld) return this.#execute(passages, options);
    return this.#order.start(() => this.#execute(passages, options));
  }

  meet<Result>(
    devices: readonly string[],
    line: string,
    options: RunOptions,
    then: (lines: readonly string[], open: () => Promise<GpuGroup>) => Promise<Result>,
  ): Promise<Result> {
    const { size, localRanks } = this;
    const runTogether = this.#execute.bind(this);
    const open = async () => {
      await this.of(devices);
      return { size, localRanks, runTogether };
    };
    return this.#order.hold(async () => {
      const lines = await exchangeBy(this.#met(), options)(Buffer.from(line));
      return then(
        lines.map((bytes) => Buffer.from(bytes).toString()),
        open,
      );
    });
  }

  async #execute(passages: readonly Passage[], options: RunOptions = {}): Promise<void> {
    if (passages.length === 0) return;
    const { signal, stop } = this.#watch(options.signal);
    try {
      this.#opened ??= this.#open({ ...options, signal });
      const nccl = await this.#opened;
      if (options.checkCalls) await this.#compare(passages, options);
      await nccl.runTogether(passages, { ...options, signal }).catch((error: unknown) => {
        // All processes make the same calls, so each finds an invalid one before it begins.
        if (error instanceof ValueError) throw error;
        throw this.#failed(error);
      });
    } finally {
      stop();
    }
  }

  async close(): Promise<void> {
    const nccl = await this.#opened?.catch(() => undefined);
    await nccl?.close();
    await this.#meeting?.close();
  }

  /**
   * A signal that aborts when the caller's signal aborts, or when the processes' world has failed,
   * which NCCL does not detect.
   */
  #watch(wanted: AbortSignal | undefined) {
    const failed = new AbortController();
    const timer = setInterval(() => {
      const failure = this.#world.failure?.();
      if (failure) failed.abort(failure);
    }, millisBetweenLooks);
    const signal = wanted ? AbortSignal.any([wanted, failed.signal]) : failed.signal;
    return { signal, stop: () => clearInterval(timer) };
  }

  async #open(options: RunOptions): Promise<NcclCommunicator> {
    const { localRanks } = this.#world;
    const process = (localRanks[0] as number) / localRanks.length;
    try {
      const exchange = exchangeBy(this.#met(), options);
      return await NcclCommunicator.joinBy(exchange, process, this.devices, this.#options, options.signal);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /**
   * Compares the requests of all processes through the world, as the world does for its own
   * collectives.
   * @throws the same error on all processes if the requests differ
   */
  async #compare(
    passages: readonly Passage[],
    { timeoutSeconds = null, signal, layout = 0, valueCount = 0, turn }: RunOptions,
  ): Promise<void> {
    const [{ collective }] = passages as readonly [Passage];
    const { size, localRanks } = this;
    const samples = passages.map((passage) => {
      const sample = sampleOf(passage.collective, localRanks, passage.inputs, passage.outputs);
      if (passage.collective.kind !== 'scatter') return sample;
      // The root's tensor differs from those of the other ranks.
      return { ...sample, shape: [lengthOfCall(passage, { size, ranks: localRanks })] };
    });
    const [{ dtype }] = samples as [Tensor];
    const length = passages.reduce((sum, passage) => sum + lengthOfCall(passage, { size, ranks: localRanks }), 0);
    const request = { collective, dtype, length };
    const meeting = this.#met();
    const marks = meeting.localRanks.map(() => bytes(new Uint8Array(1)));
    const options = {
      timeoutSeconds,
      turn,
      request,
      layout: hashOf([layout, layoutOf(samples)]),
      valueCount,
      ...(signal ? { signal } : {}),
    };
    await meeting.run({ kind: 'all-reduce', op: 'max' }, marks, marks, options);
  }

  #met(): Communicator {
    this.#meeting ??= this.#world.communicator(reductionToOneAlgorithm());
    return this.#meeting;
  }

  /**
   * Ends the world for all processes with this error, unless the world has failed before. Returns
   * the world's first failure.
   */
  #failed(error: unknown): unknown {
    const failure = this.#world.failure?.();
    if (failure) return failure;
    this.#world.fail?.((error as Error).message);
    return error;
  }
}

/**
 * Exchanges the data that processes publish about themselves (their cards) by two all-gathers:
 * first the lengths of the cards, then the cards.
 */
function exchangeBy(meeting: Communicator, { timeoutSeconds, signal, turn }: RunOptions): Exchange {
  const here = meeting.localRanks.length;
  const collective = { kind: 'all-gather' } as const;
  /** Gathers the bytes of every process; all must pass the same number of bytes. */
  const gathered = async (own: Uint8Array) => {
    const all = new Uint8Array(own.length * meeting.size);
    const outputs = meeting.localRanks.map((_, place) => bytes(place === 0 ? all : new Uint8Array(all.length)));
    const inputs = outputs.map(() => bytes(own));
    // Matches no call of a program.
    const request = { collective, dtype: 'uint8', length: all.length, purpose: 'setup' } as const;
    const options = { timeoutSeconds: timeoutSeconds ?? null, turn, request, ...(signal ? { signal } : {}) };
    await meeting.run(collective, inputs, outputs, options);
    return Array.from({ length: meeting.size / here }, (_, process) => {
      return all.subarray(process * here * own.length, (process * here + 1) * own.length);
    });
  };
  return async (card) => {
    const length = new Uint8Array(bytesOfLength);
    new DataView(length.buffer).setUint32(0, card.length);
    const lengths = (await gathered(length)).map((each) => new DataView(each.slice().buffer).getUint32(0));
    const own = new Uint8Array(Math.max(...lengths));
    own.set(card);
    return (await gathered(own)).map((each, process) => each.slice(0, lengths[process]));
  };
}

function bytes(data: Uint8Array): Tensor {
  return { data, dtype: 'uint8', shape: [data.length], device: '' };
}
