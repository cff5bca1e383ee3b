import type { Arena } from '../runtime/arena.js';
import { clashAmong, type UsedRange } from '../runtime/clashes.js';
import { type Descriptors, nowhere } from '../runtime/descriptors.js';
import type { Offsets } from './fold-ranges.js';

/** Offsets of a buffer's pieces in the arena (the shared memory): `nowhere` for pieces that are private or unused. */
export interface SegmentOffsets {
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/**
 * How buffers are cut: the element at which each piece begins, followed by the total length; and
 * the bytes per element.
 */
export interface SegmentCuts {
  readonly begins: Float64Array;
  readonly inputSize: number;
  readonly outputSize: number;
}

interface Room {
  readonly at: number;
  readonly length: number;
}

/**
 * The offsets of all ranks' pieces, which do not fit into descriptors (the ranks' descriptions of
 * their calls). Each rank writes its list into the arena (the shared memory) along with its
 * descriptor. There is one list per turn, so that list and descriptor stay valid equally long.
 */
export class SegmentTable {
  readonly #arena: Arena;
  readonly #rooms: Room[] = [
    { at: nowhere, length: 0 },
    { at: nowhere, length: 0 },
  ];

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  /** Writes the list of this rank's pieces for a turn: 0 or 1, which calls use alternately. */
  write(turn: number, { inputs, outputs }: SegmentOffsets): void {
    const length = inputs.length + outputs.length;
    let room = this.#rooms[turn] as Room;
    if (room.length < length) {
      // Doubling bounds the memory wasted by outgrown lists; the arena never takes memory back.
      const wanted = Math.max(length, 2 * room.length);
      room = { at: this.#arena.reserve(wanted * 8), length: wanted };
      this.#rooms[turn] = room;
    }
    this.#words(room.at, length).set([...inputs, ...outputs]);
  }

  /** Offset of this rank's list of pieces for a turn (0 or 1), in bytes of the arena (the shared memory). */
  at(turn: number): number {
    return (this.#rooms[turn] as Room).at;
  }

  /**
   * Reads the lists of piece offsets that the ranks' descriptors refer to, for buffers of `count`
   * pieces. The returned function returns the offsets of one piece on all ranks.
   */
  places(descriptors: Descriptors, size: number, count: number): (piece: number) => Offsets {
    const lists = Array.from({ length: size }, (_, rank) => this.#listOf(descriptors, rank, count));
    const at = (rank: number, index: number) => lists[rank]?.[index] ?? nowhere;
    return (piece) => ({ inputAt: (rank) => at(rank, piece), outputAt: (rank) => at(rank, count + piece) });
  }

  /**
   * Two ranks, of which the first writes memory that the other one uses; undefined if there are
   * none.
   */
  clash(
    descriptors: Descriptors,
    size: number,
    { begins, inputSize, outputSize }: SegmentCuts,
    isShared: boolean,
  ): readonly [rank: number, other: number] | undefined {
    const count = begins.length - 1;
    const stretches: UsedRange[] = [];
    for (let rank = 0; rank < size; rank++) {
      for (const [index, begin] of this.#listOf(descriptors, rank, count).entries()) {
        if (begin === nowhere) continue;
        const isWritten = index >= count;
        const piece = isWritten ? index - count : index;
        const length = (begins[piece + 1] as number) - (begins[piece] as number);
        stretches.push({ begin, end: begin + length * (isWritten ? outputSize : inputSize), rank, piece, isWritten });
      }
    }
    return clashAmong(stretches, isShared);
  }

  /** The offsets of a rank's input pieces, followed by those of its output pieces. */
  #listOf(descriptors: Descriptors, rank: number, count: number): readonly number[] {
    const at = descriptors.piecesAt(rank);
    return at === nowhere ? [] : [...this.#words(at, 2 * count)];
  }

  #words(at: number, length: number): Float64Array {
    return (this.#arena.elements('float64') as Float64Array).subarray(at / 8, at / 8 + length);
  }
}
