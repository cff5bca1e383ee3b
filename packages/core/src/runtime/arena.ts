import { CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { byteSize, type DType, isDType, type TypedArray, viewOf } from '../values/dtype.js';
import { isTensor, type Tensor } from '../values/tensor.js';
import { createWasmMemory, pageBytes, requireWebAssembly, type WasmMemory } from './web-assembly.js';

/**
 * Shared memory that grows without notifying other threads: every thread sees the same growable
 * buffer or WebAssembly memory.
 */
export interface ArenaMemory {
  /** The growable buffer or, for WebAssembly memory, the buffer that it exposed when the arena was made. */
  readonly bytes: SharedArrayBuffer;
  readonly wasm?: WasmMemory;
  readonly maxBytes: number;
  /** One Int32: number of allocated units of 64 bytes. */
  readonly used: SharedArrayBuffer;
}

// A cache line, in bytes: no two allocations share one, and every dtype is aligned.
const unit = 64;
const initialBytes = 1 << 20;

// Kernels address elements, of at least one byte, by int32.
const mostBytes = 2 ** 31;

/**
 * Reserves address space for `maxBytes`, at most 2 GiB; memory is committed as needed.
 * @throws ValueError for an invalid size; CollError if the address space is not available
 */
export function createArenaMemory(maxBytes = mostBytes): ArenaMemory {
  return reserved(maxBytes, (first) => ({ bytes: new SharedArrayBuffer(first, { maxByteLength: maxBytes }) }));
}

/**
 * Like `createArenaMemory`, but in WebAssembly memory, for kernels in WebAssembly.
 * @throws as `createArenaMemory`
 */
export function createWasmArenaMemory(maxBytes = mostBytes): ArenaMemory {
  requireWebAssembly();
  return reserved(maxBytes, (first) => {
    const wasm = createWasmMemory(first, maxBytes);
    return { bytes: wasm.buffer, wasm };
  });
}

function reserved(maxBytes: number, make: (first: number) => Pick<ArenaMemory, 'bytes' | 'wasm'>): ArenaMemory {
  requireBytes(maxBytes);
  try {
    return { ...make(Math.min(initialBytes, maxBytes)), maxBytes, used: new SharedArrayBuffer(4) };
  } catch (cause) {
    const message = `cannot reserve a shared arena of ${maxBytes} bytes in this process`;
    const advice =
      'close groups that are no longer needed, lower maxBytes, or raise the limit of the address space (ulimit -v)';
    throw new CollError('ERR_COLL_BUFFER', `${message}: ${advice}`, { cause });
  }
}

function requireBytes(maxBytes: number): void {
  if (Number.isInteger(maxBytes) && maxBytes > 0 && maxBytes <= mostBytes) return;
  throw new ValueError('ERR_COLL_VALUE', `an arena must have at most ${mostBytes} bytes, got ${maxBytes}`);
}

function adviceFor(maxBytes: number): string {
  if (maxBytes < mostBytes) return 'open the group with a larger maxBytes';
  return 'an arena cannot be larger: use ordinary arrays for the rest, or the native engine';
}

/** One thread's view of an arena, the shared memory of a group of threads. */
export class Arena {
  readonly #memory: ArenaMemory;
  readonly #used: Int32Array;
  readonly #views = new Map<DType, TypedArray>();
  readonly #buffers = new WeakSet<ArrayBufferLike>();
  #viewedBytes = 0;

  constructor(memory: ArenaMemory) {
    this.#memory = memory;
    this.#used = new Int32Array(memory.used);
    this.#buffers.add(memory.bytes);
  }

  /**
   * A tensor of zeros in memory of its own, which lives as long as the arena.
   * @throws ValueError for an unknown dtype or an invalid length; CollError if the arena is full
   */
  allocate<D extends DType>(dtype: D, length: number): Tensor<D> {
    if (!isDType(dtype) || !Number.isSafeInteger(length) || length < 0) {
      const message = `allocate takes a dtype and a whole number of elements, got ${quote(dtype)} and ${quote(length)}`;
      throw new ValueError('ERR_COLL_VALUE', message);
    }
    const at = this.reserve(length * byteSize(dtype));
    return { data: viewOf(dtype, this.bytes, at, length), dtype, shape: [length], device: '' };
  }

  /** Allocates `bytes` bytes, and returns their offset. @throws CollError if the arena is full */
  reserve(bytes: number): number {
    const units = Math.ceil(bytes / unit);
    const at = Atomics.add(this.#used, 0, units) * unit;
    const end = at + units * unit;
    const { maxBytes } = this.#memory;
    if (end > maxBytes) {
      Atomics.sub(this.#used, 0, units);
      throw new CollError(
        'ERR_COLL_BUFFER',
        `the shared arena of ${maxBytes} bytes has no room for ${bytes} more; ${adviceFor(maxBytes)}`,
      );
    }
    this.#refresh();
    // Doubling keeps growth rare; after each growth, every thread recreates its views.
    while (this.bytes.byteLength < end) {
      const next = Math.min(maxBytes, Math.max(end, this.bytes.byteLength * 2));
      try {
        this.#grow(next);
      } catch (error) {
        // Either another thread grew it further meanwhile, or memory is exhausted.
        if (this.bytes.byteLength < next)
          throw new CollError('ERR_COLL_BUFFER', `cannot enlarge the memory that the threads share to ${next} bytes`, {
            cause: error,
          });
      }
    }
    return at;
  }

  /** The whole arena, as far as it has grown. */
  get bytes(): SharedArrayBuffer {
    const { wasm, bytes } = this.#memory;
    if (!wasm) return bytes;
    const { buffer } = wasm;
    // Callers may create views over it, which must be recognized as part of this arena.
    this.#buffers.add(buffer);
    return buffer;
  }

  // Growth of WebAssembly memory by another thread may become visible late; growing it by 0 pages
  // makes it visible.
  #refresh(): void {
    const given = Atomics.load(this.#used, 0) * unit;
    if (this.#memory.wasm && given > this.bytes.byteLength) this.#memory.wasm.grow(0);
  }

  #grow(bytes: number): void {
    const { wasm, bytes: buffer } = this.#memory;
    if (wasm) wasm.grow(Math.ceil((bytes - wasm.buffer.byteLength) / pageBytes));
    else buffer.grow(bytes);
  }

  /** Whether an array lies in this arena, where every member can read it. */
  holds(data: TypedArray): boolean {
    return this.#buffers.has(data.buffer);
  }

  /**
   * If the tensor lies in this arena, the same tensor as a view of `bytes`; otherwise the tensor
   * itself.
   */
  present(tensor: Tensor): Tensor {
    // Invalid tensors are reported by later checks.
    if (!isTensor(tensor) || !ArrayBuffer.isView(tensor.data)) return tensor;
    const { data, dtype } = tensor;
    if (data.buffer === this.bytes || !this.holds(data)) return tensor;
    return { ...tensor, data: viewOf(dtype, this.bytes, data.byteOffset, data.length) };
  }

  /** The whole arena as elements of a dtype. */
  elements(dtype: DType): TypedArray {
    this.#refresh();
    const { bytes } = this;
    if (bytes.byteLength !== this.#viewedBytes) {
      this.#views.clear();
      this.#viewedBytes = bytes.byteLength;
    }
    const known = this.#views.get(dtype);
    if (known) return known;
    // With an explicit length, because arrays that track a growable buffer's length are several
    // times slower.
    const made = viewOf(dtype, bytes, 0, Math.floor(this.#viewedBytes / byteSize(dtype)));
    this.#views.set(dtype, made);
    return made;
  }
}
