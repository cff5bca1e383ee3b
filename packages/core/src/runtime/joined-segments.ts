import { copyDisjoint } from '../values/copy-disjoint.js';
import type { TypedArray } from '../values/dtype.js';
import { hasLength } from '../values/has-length.js';
import type { SegmentList } from './segment-list.js';

/** Segments addressed like a single contiguous buffer. */
export class JoinedSegments {
  readonly #arrays: readonly TypedArray[];
  /** The element at which each piece begins, followed by the total length. */
  readonly #begins: readonly number[];

  constructor(pieces: SegmentList) {
    this.#arrays = pieces.map(({ data }) => data);
    let end = 0;
    this.#begins = [
      0,
      ...this.#arrays.map(({ length }) => {
        end += length;
        return end;
      }),
    ];
  }

  get length(): number {
    return this.#begins.at(-1) as number;
  }

  /** Whether all memory is intact, that is, not transferred by its owner. */
  get isWhole(): boolean {
    return this.#arrays.every((array, index) => hasLength(array, this.#endOf(index) - this.#beginOf(index)));
  }

  /** Copies elements `[begin, end)` to the start of an array. */
  copyTo(into: TypedArray, begin: number, end: number): void {
    for (let index = 0; index < this.#arrays.length; index++) {
      const [array, first] = [this.#arrays[index] as TypedArray, this.#beginOf(index)];
      const from = Math.max(begin, first);
      const count = Math.min(end, this.#endOf(index)) - from;
      if (count > 0) copyDisjoint(into, from - begin, array, from - first, count);
    }
  }

  /** Copies elements `[begin, end)` from the start of an array. */
  copyFrom(from: TypedArray, begin: number, end: number): void {
    for (let index = 0; index < this.#arrays.length; index++) {
      const [array, first] = [this.#arrays[index] as TypedArray, this.#beginOf(index)];
      const at = Math.max(begin, first);
      const count = Math.min(end, this.#endOf(index)) - at;
      if (count > 0) copyDisjoint(array, at - first, from, at - begin, count);
    }
  }

  #beginOf(index: number): number {
    return this.#begins[index] as number;
  }

  #endOf(index: number): number {
    return this.#begins[index + 1] as number;
  }
}
