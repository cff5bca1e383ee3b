import { allocate, byteSize, type DType, type TypedArray, viewOf } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';

/** This rank's part of an all-gather, and the memory for the parts of all ranks. */
export class ExchangeBuffer {
  readonly own: Tensor;
  readonly all: Tensor;
  readonly #views = new Map<DType, { readonly own: TypedArray; readonly all: TypedArray }>();

  constructor(dtype: DType, length: number, ranks: number) {
    this.own = newTensor(dtype, length);
    this.all = newTensor(dtype, ranks * length);
  }

  /** The memory as elements of another dtype. */
  as(dtype: DType): { readonly own: TypedArray; readonly all: TypedArray } {
    const known = this.#views.get(dtype);
    if (known) return known;
    const made = { own: viewAs(dtype, this.own), all: viewAs(dtype, this.all) };
    this.#views.set(dtype, made);
    return made;
  }
}

const mostBuffers = 4;
const mostBytes = 2 ** 20;

/**
 * Memory for the messages of gathers. It is used again for messages of the same length, so that the
 * engine recognizes the call. A buffer whose exchange fails is not given back, because the engine
 * may still use it.
 */
export class ExchangeBuffers {
  readonly #free: ExchangeBuffer[] = [];

  /** Memory with undefined contents, for `length` elements per rank. */
  take(dtype: DType, length: number, ranks: number): ExchangeBuffer {
    const known = this.#free.findIndex(
      ({ own, all }) => own.dtype === dtype && own.data.length === length && all.data.length === ranks * length,
    );
    return known < 0 ? new ExchangeBuffer(dtype, length, ranks) : (this.#free.splice(known, 1)[0] as ExchangeBuffer);
  }

  giveBack(buffer: ExchangeBuffer): void {
    if (buffer.all.data.byteLength > mostBytes) return;
    this.#free.unshift(buffer);
    if (this.#free.length > mostBuffers) this.#free.pop();
  }
}

function newTensor(dtype: DType, length: number): Tensor {
  return { data: allocate(dtype, length), dtype, shape: [length], device: '' };
}

function viewAs(dtype: DType, { data }: Tensor): TypedArray {
  return viewOf(dtype, data.buffer, data.byteOffset, data.byteLength / byteSize(dtype));
}
