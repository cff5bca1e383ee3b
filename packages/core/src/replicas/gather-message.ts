import { allocate } from '../values/dtype.js';
import { elementCount, type Tensor } from '../values/tensor.js';
import type { ExchangeBuffer, ExchangeBuffers } from './exchange-buffers.js';

const bytesPerWord = 8;

/** Words of each message that are reserved for values. Each value begins at a word. */
const wordsOfValues = 16;

/** The shapes of all ranks, by rank, then by value. */
type ShapesOfRanks = readonly (readonly (readonly number[])[])[];

/**
 * The first message of a gather from each rank to all others: the shapes of its values and, if they
 * are small, the values themselves, so that a small gather takes a single collective. The length of
 * the message depends only on the numbers of values and dimensions, which are the same on all ranks.
 */
export class GatherMessage {
  readonly buffer: ExchangeBuffer;
  readonly #values: readonly Tensor[];
  readonly #ranks: number;
  /** Words of a message: whether it contains the values, all dimensions, then the values. */
  readonly #words: number;

  /** Writes the message of this rank to `buffer.own`. */
  constructor(buffers: ExchangeBuffers, values: readonly Tensor[], ranks: number) {
    this.#values = values;
    this.#ranks = ranks;
    this.#words = 1 + values.reduce((sum, { shape }) => sum + shape.length, 0) + wordsOfValues;
    this.buffer = buffers.take('uint8', this.#words * bytesPerWord, ranks);
    const { own } = this.buffer.as('float64');
    let word = 1;
    for (const { shape } of values) for (const dimension of shape) own[word++] = dimension;
    own[0] = Number(this.#writeValues(word));
  }

  /** The shapes in the messages that have arrived in `buffer.all`. */
  shapes(): ShapesOfRanks {
    const { all } = this.buffer.as('float64');
    const shapes: number[][][] = [];
    for (let rank = 0; rank < this.#ranks; rank++) {
      let word = rank * this.#words + 1;
      shapes.push(this.#values.map(({ shape }) => shape.map(() => all[word++] as number)));
    }
    return shapes;
  }

  /**
   * Concatenates the values in the messages of all ranks along `axis`, in new memory. Returns
   * undefined unless every message contains its values. `shapes` are those of the messages, and can
   * be joined along `axis`.
   */
  joined(shapes: ShapesOfRanks, axis: number): Tensor[] | undefined {
    const { all } = this.buffer.as('float64');
    const begins: number[] = [];
    for (let rank = 0; rank < this.#ranks; rank++) {
      if (all[rank * this.#words] !== 1) return undefined;
      begins.push((rank + 1) * this.#words - wordsOfValues);
    }
    return this.#values.map((value, index) => this.#joinedValue(value, index, shapes, axis, begins));
  }

  /** Writes the values from `word` on. Returns whether all are intact and fit. */
  #writeValues(word: number): boolean {
    let begin = word;
    for (const { data, dtype, shape, memory } of this.#values) {
      if (memory || data.length !== elementCount(shape)) return false;
      const end = begin + Math.ceil(data.byteLength / bytesPerWord);
      if (end > this.#words) return false;
      const { own } = this.buffer.as(dtype);
      (own as Float32Array).set(data as Float32Array, begin * (bytesPerWord / data.BYTES_PER_ELEMENT));
      begin = end;
    }
    return true;
  }

  /** `begins` are the words at which the value begins in each message, and are moved to the next value. */
  #joinedValue(
    { dtype, device, shape: own }: Tensor,
    index: number,
    shapes: ShapesOfRanks,
    axis: number,
    begins: number[],
  ): Tensor {
    const parts = shapes.map((ofRank) => ofRank[index] as readonly number[]);
    const along = parts.reduce((sum, shape) => sum + (shape[axis] as number), 0);
    const shape = own.with(axis, along);
    const rows = elementCount(shape.slice(0, axis));
    const data = allocate(dtype, elementCount(shape));
    const { all } = this.buffer.as(dtype);
    const perWord = bytesPerWord / data.BYTES_PER_ELEMENT;
    let column = 0;
    for (const [rank, part] of parts.entries()) {
      const count = elementCount(part);
      const begin = begins[rank] as number;
      begins[rank] = begin + Math.ceil(count / perWord);
      const length = count / rows;
      for (let row = 0; row < rows; row++) {
        const at = (row * data.length) / rows + column;
        const first = begin * perWord + row * length;
        (data as Float32Array).set(all.subarray(first, first + length) as Float32Array, at);
      }
      column += length;
    }
    return { data, dtype, shape, device };
  }
}
