import type { ArrayLocation, FoldRange } from '../kernels/fold.js';
import { ControllerGroup } from '../members/controller-group.js';
import { recordedCommunicator } from '../record/recorder-hook.js';
import { Arena, type ArenaMemory } from '../runtime/arena.js';
import type { Group } from '../runtime/communicator.js';
import { FoldingCommunicator, type FoldSlice, sliced } from '../runtime/folding-communicator.js';
import { type Plan, Plans } from '../runtime/plans.js';
import type { SegmentList } from '../runtime/segment-list.js';
import type { WasmMemory } from '../runtime/web-assembly.js';
import type { Algorithm } from '../schedule/schedule.js';
import { BlockFolds } from './block-folds.js';
import { wasmKernels } from './wasm-kernels.js';

// Elements per slice of memory that is used in place. A slice takes a few hundred microseconds.
const sliceLength = 1 << 16;

/**
 * A communicator with all ranks in one thread, which combines their data with WebAssembly. Memory
 * from `allocate` is used in place. Other memory is copied through blocks that stay in the cache,
 * which takes several times as long but is still faster than JavaScript.
 */
export class WasmCommunicator extends FoldingCommunicator<number> {
  readonly group: Group;
  readonly #arena: Arena;
  readonly #blocks: BlockFolds;

  /** @throws ValueError for a size below 1 */
  constructor(memory: ArenaMemory, size: number, algorithm: Algorithm, group?: Group) {
    const arena = new Arena(memory);
    super(size, new Plans(algorithm, size, wasmKernels(memory.wasm as WasmMemory)(arena)));
    this.#arena = arena;
    this.#blocks = new BlockFolds(arena);
    const communicator = (other: Algorithm, own: Group) => new WasmCommunicator(memory, size, other, own);
    const allocate = arena.allocate.bind(arena);
    const ofSize = (ranks: number, other: Algorithm) => new WasmCommunicator(memory, ranks, other);
    this.group = group ?? new ControllerGroup({ communicator, allocate, ofSize, recorded: { engine: 'wasm', size } });
    this.recorded = recordedCommunicator(this.group, algorithm.name, 'coarse');
  }

  // After growth, several buffers may cover the arena. Overlap checks compare buffers, so all tensors get the same one.
  protected override present(lists: readonly SegmentList[]): readonly SegmentList[] {
    return lists.map((pieces) => pieces.map((piece) => this.#arena.present(piece)));
  }

  protected slicesOf(span: FoldRange<ArrayLocation>, plan: Plan): readonly FoldSlice[] {
    const isInArena = [...span.inputs, ...span.outputs].every(({ array }) => this.#arena.holds(array));
    return isInArena
      ? sliced(plan.makeFold(inBytes(span)), span.count, sliceLength)
      : this.#blocks.slicesOf(span, plan);
  }
}

/** The same fold range with byte offsets in the arena instead of arrays. */
function inBytes({ inputs, outputs, ...span }: FoldRange<ArrayLocation>): FoldRange {
  const offsetsOf = (places: readonly ArrayLocation[]) =>
    places.map(({ array, at }) => array.byteOffset + at * array.BYTES_PER_ELEMENT);
  return { ...span, inputs: offsetsOf(inputs), outputs: offsetsOf(outputs) };
}
