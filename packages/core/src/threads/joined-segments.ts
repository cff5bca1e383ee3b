import type { TypedArray } from '../values/dtype.js';
import type { SegmentList } from './segment-list.js';

// For fewer elements, a loop takes less time than creating a view.
const fewElements = 32;

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
    return this.#arrays.every(({ length }, index) => length === this.#endOf(index) - this.#beginOf(index));
  }

  /** Copies elements `[begin, end)` to the start of an array. */
  copyTo(into: TypedArray, begin: number, end: number): void {
    for (let index = 0; index < this.#arrays.length; index++) {
      const part = this.#part(index, begin, end);
      if (!part) continue;
      const at = Math.max(0, this.#beginOf(index) - begin);
      if (part.length > fewElements) (into as Float32Array).set(part as Float32Array, at);
      else for (let element = 0; element < part.length; element++) into[at + element] = part[element] as number;
    }
  }

  /** Copies elements `[begin, end)` from the start of an array. */
  copyFrom(from: TypedArray, begin: number, end: number): void {
    for (let index = 0; index < this.#arrays.length; index++) {
      const part = this.#part(index, begin, end);
      if (!part) continue;
      const at = Math.max(0, this.#beginOf(index) - begin);
      if (part.length <= fewElements) {
        for (let element = 0; element < part.length; element++) part[element] = from[at + element] as number;
        continue;
      }
      const source = part.length === from.length ? from : from.subarray(at, at + part.length);
      (part as Float32Array).set(source as Float32Array);
    }
  }

  /**
   * The part of a piece in `[begin, end)`. A whole piece is returned without a view, because views
   * are slow to create.
   */
  #part(index: number, begin: number, end: number): TypedArray | undefined {
    const array = this.#arrays[index] as TypedArray;
    const first = this.#beginOf(index);
    const from = Math.max(begin, first);
    const to = Math.min(end, this.#endOf(index));
    if (from >= to) return undefined;
    return to - from === array.length ? array : array.subarray(from - first, to - first);
  }

  #beginOf(index: number): number {
    return this.#begins[index] as number;
  }

  #endOf(index: number): number {
    return this.#begins[index + 1] as number;
  }
}
