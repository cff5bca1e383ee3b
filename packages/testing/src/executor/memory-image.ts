import type { DType, Tensor, TypedArray } from '@coll/core';
import { viewOf } from '@coll/core/plugin';
import { type Plain, plainOf, sameElement } from '../oracle/plain-arithmetic.js';

/** A tensor and its name in messages, such as `output of rank 2`. */
export interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

interface Page {
  readonly dtype: DType;
  readonly now: TypedArray;
  readonly expected: TypedArray;
}

/**
 * The expected contents of the buffers of some tensors. They are the contents when the image was
 * taken, except for the outputs passed to `expect`. Detects changed inputs, and elements that were
 * written beside an output.
 */
export class MemoryImage {
  readonly #tensors: readonly NamedTensor[];
  readonly #pages = new Map<ArrayBufferLike, Page>();

  constructor(tensors: readonly NamedTensor[]) {
    this.#tensors = tensors;
    for (const { tensor } of tensors) {
      const { buffer } = tensor.data;
      if (this.#pages.has(buffer)) continue;
      const now = viewOf(tensor.dtype, buffer, 0, buffer.byteLength / tensor.data.BYTES_PER_ELEMENT);
      this.#pages.set(buffer, { dtype: tensor.dtype, now, expected: now.slice() });
    }
  }

  /** Sets the expected elements of a tensor. */
  expect({ data }: Tensor, elements: readonly Plain[]): void {
    const { expected } = this.#pages.get(data.buffer) as Page;
    (expected as Float32Array).set(elements as readonly number[], data.byteOffset / data.BYTES_PER_ELEMENT);
  }

  /**
   * Describes the first element that differs from its expected value; undefined if no element
   * differs.
   */
  problem(): string | undefined {
    for (const [buffer, { dtype, now, expected }] of this.#pages) {
      if (bytesOf(now).equals(bytesOf(expected))) continue;
      for (let index = 0; index < now.length; index++) {
        if (sameElement(dtype, now[index], expected[index])) continue;
        const textOf = (array: TypedArray) => String(plainOf(dtype, array[index] as Plain));
        return `${this.#placeOf(buffer, index)} is ${textOf(now)}, must be ${textOf(expected)}`;
      }
    }
    return undefined;
  }

  #placeOf(buffer: ArrayBufferLike, index: number): string {
    for (const { name, tensor } of this.#tensors) {
      const { data } = tensor;
      const at = index - data.byteOffset / data.BYTES_PER_ELEMENT;
      if (data.buffer === buffer && at >= 0 && at < data.length) return `element ${at} of the ${name}`;
    }
    return 'memory beside the buffers';
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
