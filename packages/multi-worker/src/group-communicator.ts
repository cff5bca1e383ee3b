import {
  CollError,
  type Collective,
  type Communicator,
  type DType,
  type ProcessGroup,
  type RunOptions,
  type Tensor,
  ValueError,
  zeros,
} from '@coll/core';
import { hashOf, OneByOne, PackRunner } from '@coll/core/executor';

type Tensors = readonly Tensor[];
type Pieces = readonly Tensors[];

export interface GroupCommunicatorOptions {
  readonly group: ProcessGroup;
  /** Of the ranks of all workers, of which those of this one are here. */
  readonly ranks: Communicator;
  /** What messages call each of `ranks`, where these stand for several ranks of the caller's. */
  readonly names?: readonly string[] | undefined;
  /** What else is closed with it. */
  readonly engine?: Communicator | undefined;
  /** Whether collectives are to wait for those before them: for ranks that would not keep their order where several are under way. */
  readonly oneByOne?: boolean | undefined;
  /** Called for each collective; the number is one that all members must have alike. */
  readonly launch?: (() => number) | undefined;
}

/**
 * The ranks of all workers as one communicator, which takes pieces, too. Members must agree about how these are cut. Where a collective
 * ends on this worker alone, the group fails, because the others wait for it.
 */
export class GroupCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #options: GroupCommunicatorOptions;
  readonly #runner: PackRunner;
  readonly #underWay = new OneByOne();

  constructor(options: GroupCommunicatorOptions) {
    const { ranks } = options;
    this.size = ranks.size;
    this.localRanks = ranks.localRanks;
    this.#options = options;
    this.#runner = new PackRunner(ranks);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#options.ranks.refuses(collective, dtype);
  }

  run(collective: Collective, inputs: Tensors, outputs: Tensors, options?: RunOptions): Promise<void> {
    const launched = this.#launched(options);
    return this.#play(() => this.#options.ranks.run(collective, inputs, outputs, launched));
  }

  runSync(collective: Collective, inputs: Tensors, outputs: Tensors, options?: RunOptions): void {
    this.#watchSync(() => this.#options.ranks.runSync(collective, inputs, outputs, this.#launched(options)));
  }

  runPieces(collective: Collective, inputs: Pieces, outputs: Pieces, options?: RunOptions): Promise<void> {
    const pieces = wholeOf(inputs);
    const launched = this.#launched(options, pieces);
    return this.#play(() => this.#runner.run({ collective, inputs, outputs, pieces }, launched));
  }

  runPiecesSync(collective: Collective, inputs: Pieces, outputs: Pieces, options?: RunOptions): void {
    const pieces = wholeOf(inputs);
    const launched = this.#launched(options, pieces);
    this.#watchSync(() => this.#runner.runSync({ collective, inputs, outputs, pieces }, launched));
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#options.ranks.allocate?.(dtype, length) ?? zeros(dtype, [length]);
  }

  /** Leaves the group open. */
  async close(): Promise<void> {
    const { ranks, engine } = this.#options;
    await Promise.all([ranks.close(), engine?.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #launched(options: RunOptions = {}, pieces: readonly { readonly end: number }[] = []): RunOptions {
    const numbers = [options.layout ?? 0, this.#options.launch?.() ?? 0];
    const { names } = this.#options;
    const named = names && options.request ? { request: { ...options.request, ranks: names } } : {};
    return { ...options, ...named, layout: hashOf(numbers.concat(pieces.map(({ end }) => end))) };
  }

  #play(run: () => Promise<void>): Promise<void> {
    const watched = () => this.#watch(run());
    return this.#options.oneByOne ? this.#underWay.run(watched) : watched();
  }

  async #watch(running: Promise<void>): Promise<void> {
    try {
      await running;
    } catch (error) {
      this.#failWith(error);
      throw error;
    }
  }

  #watchSync(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#failWith(error);
      throw error;
    }
  }

  /** Members make the same calls: what is wrong with one is found on all of them, before it begins. */
  #failWith(error: unknown): void {
    const isRefused = error instanceof ValueError || (error instanceof CollError && error.code === 'ERR_COLL_CLOSED');
    if (isRefused || !(error instanceof Error)) return;
    const { ranks, group } = this.#options;
    // Others get an error of the same class where the ranks can tell them of it.
    if (ranks.fail && error instanceof CollError) ranks.fail(error);
    else group.fail(error);
  }
}

function wholeOf([first = []]: Pieces) {
  return first.map(({ data }, index) => ({ index, begin: 0, end: data.length }));
}
