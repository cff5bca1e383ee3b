import { clashError } from '../collectives/call-errors.js';
import { reads, writes } from '../collectives/collective.js';
import type { FoldMemory } from '../kernels/fold.js';
import { type Descriptors, nowhere } from '../runtime/descriptors.js';
import type { CollError } from '../support/errors.js';
import { placedSegments } from './fold-ranges.js';
import type { Contribution, Offer, WorkSlice } from './offers.js';
import type { SegmentTable } from './segment-table.js';
import type { SharedBarrier } from './shared-barrier.js';
import { directSlice, smallSlice, stagedSlice } from './work-slice.js';

/**
 * What a call needs before it can go on: that all ranks reach its `count` (`meeting`), or a pause
 * for other work (`pause`). `nothing` means that the call has ended.
 */
export type Need = 'meeting' | 'pause' | 'nothing';

export interface CallExecutionOptions {
  readonly barrier: SharedBarrier;
  readonly tables: readonly [Descriptors, Descriptors];
  readonly pieces: SegmentTable;
  readonly memory: FoldMemory;
  readonly rank: number;
  readonly size: number;
}

/**
 * A rank's part of a collective, as steps between synchronizations of all ranks. Every rank
 * publishes the location of its memory. After the first synchronization each rank folds (combines)
 * its share of all inputs into all outputs. A last synchronization ends the call, because until
 * then ranks may access each other's memory.
 *
 * Private memory is copied through staging buffers in shared memory, block by block. Each buffer
 * has two slots, so that a rank can load the next block while its peers still fold the current one.
 * One synchronization ends both; then the rank stores the current block.
 */
export class CallExecution {
  readonly #barrier: SharedBarrier;
  readonly #tables: readonly [Descriptors, Descriptors];
  readonly #pieces: SegmentTable;
  readonly #memory: FoldMemory;
  readonly #rank: number;
  readonly #size: number;
  #offer!: Offer;
  #part!: Contribution;
  #number = 0;
  #count = 0;
  #block = 0;
  #phase: 'begun' | 'staged' | 'folding' | 'folded' = 'begun';

  constructor({ barrier, tables, pieces, memory, rank, size }: CallExecutionOptions) {
    this.#barrier = barrier;
    this.#tables = tables;
    this.#pieces = pieces;
    this.#memory = memory;
    this.#rank = rank;
    this.#size = size;
  }

  /** The barrier count that all ranks must reach before the call goes on. */
  get count(): number {
    return this.#count;
  }

  /**
   * Whether private memory that is still needed is intact: its owner may have transferred it while
   * other code ran.
   */
  get isWhole(): boolean {
    return this.#part.stagingBuffer?.isWhole ?? true;
  }

  begin(offer: Offer): void {
    const number = this.#barrier.turn(this.#rank);
    const part = offer.contributions[number] as Contribution;
    this.#offer = offer;
    this.#part = part;
    this.#number = number;
    this.#block = 0;
    part.stagingBuffer?.load(0);
    // What was published two turns ago for this slot need not be published again.
    if (this.#barrier.offered(this.#rank, number) !== part.number) {
      if (part.pieces) this.#pieces.write(number, part.pieces);
      this.#describe();
      this.#barrier.offer(this.#rank, number, part.number);
    }
    this.#meet('begun');
  }

  /**
   * Continues the call after a synchronization or a pause. Returns `pause` when `performance.now()`
   * has reached `until`.
   * @throws CollError if the ranks' requests differ or their memory overlaps
   */
  goOn(until: number): Need {
    if (this.#phase === 'begun') {
      if (this.#isNew()) this.#agree();
      if (this.#part.isMixed) return this.#stageToo();
    }
    this.#part.slice ??= this.#makeShare();
    const { slice: share, isStaged } = this.#part;
    const stage = isStaged ? this.#part.stagingBuffer : undefined;
    if (this.#phase === 'folded') {
      stage?.store(this.#block);
      this.#block++;
      if (this.#block >= share.blocks) return 'nothing';
      this.#phase = 'folding';
      // A pause between blocks, when nothing is half done.
      if (until !== Number.POSITIVE_INFINITY && performance.now() >= until) return 'pause';
    }
    this.#phase = 'folding';
    if (!share.execute(this.#block, until)) return 'pause';
    if (this.#offer.protocol === 'small') {
      stage?.store(0);
      return 'nothing';
    }
    if (this.#block + 1 < share.blocks) stage?.load(this.#block + 1);
    return this.#meet('folded');
  }

  get #descriptors(): Descriptors {
    return this.#tables[this.#number] as Descriptors;
  }

  #meet(phase: 'begun' | 'staged' | 'folded'): Need {
    this.#phase = phase;
    this.#count = this.#barrier.advance(this.#rank);
    return 'meeting';
  }

  /** Whether any rank has made another offer (validated call) since this contribution was last executed. */
  #isNew(): boolean {
    const { seen } = this.#part;
    let isNew = false;
    for (let rank = 0; rank < this.#size; rank++) {
      const offered = this.#barrier.offered(rank, this.#number);
      if (seen[rank] === offered) continue;
      seen[rank] = offered;
      isNew = true;
    }
    return isNew;
  }

  /** @throws CollError if the ranks' offers (calls and their memory) do not match */
  #agree(): void {
    const { ranks, protocol } = this.#offer;
    const part = this.#part;
    const error = this.#descriptors.mismatch(ranks ?? this.#barrier.names) ?? this.#overlap();
    if (error) {
      part.seen.fill(0);
      this.#barrier.failFor(error, this.#rank);
      throw error;
    }
    const onStage = protocol === 'blocks' ? this.#ranks().filter((rank) => this.#needsStage(rank)).length : 0;
    part.isStaged = protocol !== 'blocks' || onStage > 0;
    part.isMixed = onStage > 0 && onStage < this.#size;
    part.slice = undefined;
  }

  /** The error if one rank writes memory that another one uses; undefined otherwise. */
  #overlap(): CollError | undefined {
    const { operation, inputBytes, outputBytes, isShared, cuts } = this.#offer;
    if (!this.#part.pieces) return this.#descriptors.overlap(operation, inputBytes, outputBytes, isShared);
    const clash = this.#pieces.clash(this.#descriptors, this.#size, cuts, isShared);
    return clash && clashError(operation, ...clash);
  }

  /**
   * Publishes this rank's staging buffer if it has none yet: as soon as one rank's memory is
   * private, all ranks use staging buffers.
   */
  #stageToo(): Need {
    const part = this.#part;
    if (!part.stagingBuffer) {
      part.stagingBuffer = this.#offer.makeStagingBuffer();
      part.descriptor = { ...part.descriptor, workAt: part.stagingBuffer.at };
      part.stagingBuffer.load(0);
      this.#describe();
    }
    return this.#meet('staged');
  }

  #describe(): void {
    const { descriptor, pieces } = this.#part;
    this.#descriptors.write(this.#rank, descriptor, pieces ? this.#pieces.at(this.#number) : nowhere);
  }

  #needsStage(rank: number): boolean {
    const { collective } = this.#offer.plan;
    const [input, output] = [this.#descriptors.inputAt(rank), this.#descriptors.outputAt(rank)];
    return (reads(collective, rank) && input === nowhere) || (writes(collective, rank) && output === nowhere);
  }

  #makeShare(): WorkSlice {
    const { protocol, plan, length, cuts } = this.#offer;
    if (protocol === 'small') return smallSlice(this.#offer, this.#descriptors, this.#rank, this.#memory);
    if (protocol === 'blocks' && this.#part.isStaged) return stagedSlice(this.#offer, this.#descriptors, this.#rank);
    if (!this.#part.pieces) {
      const whole = { begin: 0, end: length, places: this.#descriptors };
      return directSlice(this.#offer, [whole], this.#rank);
    }
    const placesOf = this.#pieces.places(this.#descriptors, this.#size, cuts.begins.length - 1);
    return directSlice(this.#offer, placedSegments(plan, cuts.begins, placesOf), this.#rank);
  }

  #ranks(): number[] {
    return Array.from({ length: this.#size }, (_, rank) => rank);
  }
}
