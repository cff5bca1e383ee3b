import type { Collective } from '../collective.js';
import type { DType } from '../dtype.js';
import type { Fold } from '../kernels/fold.js';
import { allRanks } from '../ranks.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { Tensor } from '../tensor.js';
import { Arena, type ArenaMemory } from '../threads/arena.js';
import type { KnownCall } from '../threads/known-calls.js';
import { OrderedCommunicator } from '../threads/ordered-communicator.js';
import type { CheckedCall, Pieces } from '../threads/pieces.js';
import { type Plan, Plans } from '../threads/plans.js';
import { spansOf } from '../threads/spans.js';
import { BlockPlayer } from './block-player.js';
import { wasmKernels } from './wasm-kernels.js';
import type { WasmMemory } from './web-assembly.js';

/** Does a call that was checked, however often. */
type Play = () => void;

/**
 * All ranks in one thread, folded by WebAssembly. Memory from `allocate` is used in place; other memory goes through blocks that
 * stay in the cache, which takes three times as long, and two thirds of the time of JavaScript at the most.
 */
export class WasmCommunicator extends OrderedCommunicator<Play> {
  readonly #arena: Arena;
  readonly #plans: Plans;
  readonly #blocks: BlockPlayer;

  /** @throws ValueError for a size below 1 */
  constructor(memory: ArenaMemory, size: number, algorithm: Algorithm) {
    super(size, allRanks(size));
    this.#arena = new Arena(memory);
    this.#plans = new Plans(algorithm, size, wasmKernels(memory.wasm as WasmMemory)(this.#arena));
    this.#blocks = new BlockPlayer(this.#arena);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#plans.refuses(collective, dtype);
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#arena.allocate(dtype, length);
  }

  // A grown arena shows itself in several buffers: checks of overlaps need one.
  protected override present(lists: readonly Pieces[]): readonly Pieces[] {
    return lists.map((pieces) => pieces.map((piece) => this.#arena.present(piece)));
  }

  protected prepare({ collective, dtype, length, begins, inputs, outputs }: CheckedCall): Play {
    const plan = this.#plans.find(collective, dtype);
    const isInArena = [...inputs, ...outputs].every(([first, ...more]) => this.#isOwn(first) && more.length === 0);
    return isInArena
      ? this.#playInPlace(plan, length, inputs, outputs)
      : this.#blocks.prepare(plan, begins, inputs, outputs);
  }

  protected playSync({ handle: play }: KnownCall<Play>): void {
    play();
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
