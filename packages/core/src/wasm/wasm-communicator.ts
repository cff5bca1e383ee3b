import type { Collective } from '../collective.js';
import type { Group, RunOptions } from '../communicator.js';
import { ControllerGroup } from '../controller-group.js';
import type { DType } from '../dtype.js';
import { requireGoing } from '../in-one-hand.js';
import type { Fold } from '../kernels/fold.js';
import { allRanks } from '../ranks.js';
import type { Algorithm } from '../schedule/schedule.js';
import { Arena, type ArenaMemory } from '../threads/arena.js';
import { nextTurn } from '../threads/event-loop.js';
import type { KnownCall } from '../threads/known-calls.js';
import { OrderedCommunicator } from '../threads/ordered-communicator.js';
import type { CheckedCall, Pieces } from '../threads/pieces.js';
import { type Plan, Plans } from '../threads/plans.js';
import { deadlineOf } from '../threads/shared-barrier.js';
import { placedPieces, spansOfPieces } from '../threads/spans.js';
import { BlockPlayer } from './block-player.js';
import { wasmKernels } from './wasm-kernels.js';
import type { WasmMemory } from './web-assembly.js';

type Call = KnownCall<readonly Play[]>;

/** Does a part of a call that was checked, however often. */
type Play = () => void;

// A part of a call in place, in elements: some hundred microseconds.
const partLength = 1 << 16;

// An asynchronous call that takes longer lets the event loop run in between.
const turnMillis = 1;

/**
 * All ranks in one thread, folded by WebAssembly. Memory from `allocate` is used in place; other memory goes through blocks that
 * stay in the cache, which takes three times as long, and two thirds of the time of JavaScript at the most. An asynchronous call that takes more
 * than a millisecond lets the event loop run in between.
 */
export class WasmCommunicator extends OrderedCommunicator<readonly Play[]> {
  readonly group: Group;
  readonly #arena: Arena;
  readonly #plans: Plans;
  readonly #blocks: BlockPlayer;

  /** @throws ValueError for a size below 1 */
  constructor(memory: ArenaMemory, size: number, algorithm: Algorithm, group?: Group) {
    super(size, allRanks(size));
    this.#arena = new Arena(memory);
    this.#plans = new Plans(algorithm, size, wasmKernels(memory.wasm as WasmMemory)(this.#arena));
    this.#blocks = new BlockPlayer(this.#arena);
    const communicator = (other: Algorithm, own: Group) => new WasmCommunicator(memory, size, other, own);
    const allocate = this.#arena.allocate.bind(this.#arena);
    const ofSize = (ranks: number, other: Algorithm) => new WasmCommunicator(memory, ranks, other);
    this.group = group ?? new ControllerGroup({ communicator, allocate, ofSize });
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#plans.refuses(collective, dtype);
  }

  // A grown arena shows itself in several buffers: checks of overlaps need one.
  protected override present(lists: readonly Pieces[]): readonly Pieces[] {
    return lists.map((pieces) => pieces.map((piece) => this.#arena.present(piece)));
  }

  protected prepare({ collective, dtype, length, begins, inputs, outputs }: CheckedCall): readonly Play[] {
    const plan = this.#plans.find(collective, dtype);
    const isInArena = [...inputs, ...outputs].every((pieces) => pieces.every(({ data }) => this.#arena.holds(data)));
    return isInArena
      ? this.#playInPlace(plan, { begins, length }, inputs, outputs)
      : this.#blocks.prepare(plan, begins, inputs, outputs);
  }

  protected playSync({ handle: parts }: Call): void {
    for (const play of parts) play();
  }

  protected override play(call: Call, options: RunOptions): Promise<void> | undefined {
    const end = playFrom(call.handle, 0);
    return end < call.handle.length ? this.#goOn(call, end, options) : undefined;
  }

  protected override playLater(call: Call, options: RunOptions): Promise<void> {
    return this.#goOn(call, 0, options);
  }

  protected override async release(running: Promise<unknown> | undefined): Promise<void> {
    await running?.catch(() => {});
  }

  async #goOn(call: Call, begin: number, options: RunOptions): Promise<void> {
    const deadline = deadlineOf(options);
    let at = begin;
    do {
      if (at > 0) await nextTurn();
      requireGoing(call, this.size, options, deadline);
      at = playFrom(call.handle, at);
    } while (at < call.handle.length);
  }

  #playInPlace(
    plan: Plan,
    { begins, length }: Pick<CheckedCall, 'begins' | 'length'>,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
  ): readonly Play[] {
    const work = { ...plan, length };
    const at = (lists: readonly Pieces[], piece: number) => (rank: number) =>
      lists[rank]?.[piece]?.data.byteOffset as number;
    const placed = placedPieces(work, begins, (piece) => ({
      inputAt: at(inputs, piece),
      outputAt: at(outputs, piece),
    }));
    const spans = spansOfPieces(work, placed, { begin: 0, end: length });
    return spans.flatMap((span) => {
      const fold: Fold = plan.makeFold(span);
      return Array.from({ length: Math.ceil(span.count / partLength) }, (_, index): Play => {
        const first = index * partLength;
        return () => fold(first, Math.min(partLength, span.count - first));
      });
    });
  }
}

/** Plays from a part on for a millisecond. @returns where it ended */
function playFrom(parts: readonly Play[], begin: number): number {
  const until = performance.now() + turnMillis;
  let at = begin;
  do parts[at++]?.();
  while (at < parts.length && performance.now() < until);
  return at;
}
