import type { Collective, Communicator, DType, RunOptions, Tensor, World } from '@coll/core';
import type { Exchange } from './connect.js';
import { refusedByNccl } from './element-types.js';
import { NcclCommunicator, type NcclOptions } from './nccl-communicator.js';

const bytesOfCard = 1024;
const millisBetweenLooks = 100;

/**
 * One rank among those of several processes. The communicator that the processes have already brings NCCL's unique id around, and does what
 * NCCL does not: other dtypes, and calls that block.
 */
export class ProcessCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #others: Communicator;
  readonly #world: World;
  readonly #options: NcclOptions;
  #nccl: Promise<NcclCommunicator> | undefined;

  constructor(others: Communicator, world: World, options: NcclOptions) {
    this.size = others.size;
    this.localRanks = others.localRanks;
    this.#others = others;
    this.#world = world;
    this.#options = options;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#others.refuses(collective, dtype);
  }

  async run(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): Promise<void> {
    const { dtype } = (inputs[0] ?? outputs[0]) as Tensor;
    if (refusedByNccl(collective, dtype)) {
      // NCCL is opened by a collective of the same group, which comes first on every rank or on none.
      await this.#nccl?.catch(() => undefined);
      return this.#others.run(collective, inputs, outputs, options);
    }
    const { signal, stop } = this.#watch(options?.signal);
    try {
      this.#nccl ??= this.#open();
      await (await this.#nccl).run(collective, inputs, outputs, { ...options, signal });
    } catch (error) {
      const failure = this.#world.failure?.();
      if (failure) throw failure;
      this.#world.fail?.((error as Error).message);
      throw error;
    } finally {
      stop();
    }
  }

  runSync(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[], options?: RunOptions): void {
    this.#others.runSync(collective, inputs, outputs, options);
  }

  async close(): Promise<void> {
    const nccl = await this.#nccl?.catch(() => undefined);
    await nccl?.close();
    await this.#others.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Aborted once the group has failed, which NCCL does not see; and with the signal of the caller. */
  #watch(wanted: AbortSignal | undefined) {
    const failed = new AbortController();
    const timer = setInterval(() => {
      const failure = this.#world.failure?.();
      if (failure) failed.abort(failure);
    }, millisBetweenLooks);
    const signal = wanted ? AbortSignal.any([wanted, failed.signal]) : failed.signal;
    return { signal, stop: () => clearInterval(timer) };
  }

  #open(): Promise<NcclCommunicator> {
    const rank = this.localRanks[0] as number;
    return NcclCommunicator.joinBy(this.#exchange, rank, [this.#world.devices[rank] as string], this.#options);
  }

  readonly #exchange: Exchange = async (card) => {
    const own = new Uint8Array(bytesOfCard);
    new DataView(own.buffer).setUint32(0, card.length);
    own.set(card, 4);
    const all = new Uint8Array(bytesOfCard * this.size);
    await this.#others.run({ kind: 'all-gather' }, [bytes(own)], [bytes(all)]);
    return Array.from({ length: this.size }, (_, member) => {
      const begin = member * bytesOfCard;
      const length = new DataView(all.buffer).getUint32(begin);
      return all.slice(begin + 4, begin + 4 + length);
    });
  };
}

function bytes(data: Uint8Array): Tensor {
  return { data, dtype: 'uint8', shape: [data.length], device: '' };
}
