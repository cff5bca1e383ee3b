import { refusedCollective } from '../buffers.js';
import { type Collective, nameOf } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import type { DType } from '../dtype.js';
import { AbortedError, RuntimeError, ValueError } from '../errors.js';
import type { Fold } from '../kernels/fold.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { Tensor } from '../tensor.js';
import { Arena, type ArenaMemory } from '../threads/arena.js';
import { KnownCalls } from '../threads/known-calls.js';
import { beginsOf, type Pieces, sourceOf, validatePieces } from '../threads/pieces.js';
import { type Plan, Plans } from '../threads/plans.js';
import { spansOf } from '../threads/spans.js';
import { BlockPlayer } from './block-player.js';
import { wasmKernels } from './wasm-kernels.js';
import type { WasmMemory } from './web-assembly.js';

/** Does a call that was checked, however often. */
type Play = () => void;

const noOptions: RunOptions = {};

/**
 * All ranks in one thread, folded by WebAssembly. Memory from `allocate` is used in place; other memory goes through blocks that
 * stay in the cache, which takes three times as long, and two thirds of the time of JavaScript at the most.
 */
export class WasmCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #arena: Arena;
  readonly #plans: Plans;
  readonly #blocks: BlockPlayer;
  readonly #calls = new KnownCalls<Play>();
  #isClosed = false;

  /** @throws ValueError for a size below 1 */
  constructor(memory: ArenaMemory, size: number, algorithm: Algorithm) {
    if (!(Number.isInteger(size) && size >= 1))
      throw new ValueError('ERR_COLL_VALUE', `a group has 1 rank or more, not ${size}`);
    this.size = size;
    this.localRanks = Array.from({ length: size }, (_, rank) => rank);
    this.#arena = new Arena(memory);
    this.#plans = new Plans(algorithm, size, wasmKernels(memory.wasm as WasmMemory)(this.#arena));
    this.#blocks = new BlockPlayer(this.#arena);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return refusedCollective(collective, dtype, this.size) ?? this.#plans.refuses(collective);
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#arena.allocate(dtype, length);
  }

  runSync(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions = noOptions): void {
    this.#requireOpen(collective, options);
    const known = this.#calls.find(collective, inputs, outputs, options);
    (known ?? this.#add(collective, inputs.map(alone), outputs.map(alone), options)).handle();
  }

  runPiecesSync(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions = noOptions,
  ): void {
    this.#requireOpen(collective, options);
    const known = this.#calls.findPieces(collective, inputs, outputs, options);
    (known ?? this.#add(collective, inputs, outputs, options)).handle();
  }

  async run(collective: Collective, inputs: Pieces, outputs: Pieces, options?: RunOptions): Promise<void> {
    this.runSync(collective, inputs, outputs, options);
  }

  async runPieces(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options?: RunOptions,
  ): Promise<void> {
    this.runPiecesSync(collective, inputs, outputs, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #requireOpen(collective: Collective, { signal }: RunOptions): void {
    if (!this.#isClosed && !signal?.aborted) return;
    const operation = nameOf(collective);
    if (this.#isClosed)
      throw new RuntimeError('ERR_COLL_CLOSED', `${operation}: this communicator was closed`, { operation });
    const told = `${operation} was aborted before it began`;
    throw new AbortedError('ERR_COLL_ABORTED', told, { operation, cause: signal?.reason });
  }

  #add(collective: Collective, inputs: readonly Pieces[], outputs: readonly Pieces[], options: RunOptions) {
    const { size, localRanks } = this;
    // A grown arena shows itself in several buffers: checks of overlaps need one.
    const present = (lists: readonly Pieces[]) =>
      lists.map((pieces) => pieces.map((piece) => this.#arena.present(piece)));
    const isShared = options.sharedResult ?? false;
    const buffers = { collective, size, localRanks, isShared, inputs: present(inputs), outputs: present(outputs) };
    validatePieces(buffers);
    const { dtype } = sourceOf(collective, localRanks, inputs, outputs)[0] as Tensor;
    const operation = nameOf(collective);
    const refused = this.refuses(collective, dtype);
    if (refused) throw new ValueError('ERR_COLL_REFUSED', `${operation}: ${refused}`, { operation });
    const plan = this.#plans.find(collective, dtype);
    const begins = beginsOf(buffers);
    const isInArena = [...inputs, ...outputs].every(([first, ...more]) => this.#isOwn(first) && more.length === 0);
    const play = isInArena
      ? this.#playInPlace(plan, begins.at(-1) as number, inputs, outputs)
      : this.#blocks.prepare(plan, begins, inputs, outputs);
    return this.#calls.add(collective, inputs, outputs, options, play);
  }

  #isOwn(tensor: Tensor | undefined): boolean {
    return tensor !== undefined && this.#arena.holds(tensor.data);
  }

  #playInPlace(plan: Plan, length: number, inputs: readonly Pieces[], outputs: readonly Pieces[]): Play {
    const at = (lists: readonly Pieces[]) => (rank: number) => lists[rank]?.[0]?.data.byteOffset as number;
    const places = { inputAt: at(inputs), outputAt: at(outputs) };
    const spans = spansOf({ ...plan, length }, places, { begin: 0, end: length }, () => true);
    const folds = spans.map((span): Play => {
      const fold: Fold = plan.makeFold(span);
      return () => fold(0, span.count);
    });
    return () => {
      for (const fold of folds) fold();
    };
  }
}

function alone<T>(tensor: T): readonly [T] {
  return [tensor];
}
