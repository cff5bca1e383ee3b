import { byteSize, type DType, type TypedArray, viewOf } from '../dtype.js';
import { CollError, ValueError } from '../errors.js';
import type { Tensor } from '../tensor.js';

/** Shared memory that grows without a message: every thread sees the same growable buffer. */
export interface ArenaMemory {
  readonly bytes: SharedArrayBuffer;
  /** One Int32: how many units of the buffer are given away. */
  readonly used: SharedArrayBuffer;
}

// A cache line, so that no two allocations share one, and every dtype is aligned.
const unit = 64;
const initialBytes = 1 << 20;

// Kernels address elements, of one byte at the least, by int32.
const mostBytes = 2 ** 31;

/** Reserves addresses for `maxBytes`, at most 2 GiB; memory is taken as it is needed. @throws ValueError */
export function createArenaMemory(maxBytes = mostBytes): ArenaMemory {
  if (!(Number.isInteger(maxBytes) && maxBytes > 0 && maxBytes <= mostBytes)) {
    throw new ValueError('ERR_COLL_VALUE', `an arena has up to ${mostBytes} bytes, not ${maxBytes}`);
  }
  const bytes = new SharedArrayBuffer(Math.min(initialBytes, maxBytes), { maxByteLength: maxBytes });
  return { bytes, used: new SharedArrayBuffer(4) };
}

/** One thread's view of an arena. */
export class Arena {
  readonly #memory: ArenaMemory;
  readonly #used: Int32Array;
  readonly #views = new Map<DType, TypedArray>();
  #viewedBytes = 0;

  constructor(memory: ArenaMemory) {
    this.#memory = memory;
    this.#used = new Int32Array(memory.used);
  }

  /** A tensor of zeros on memory that no other allocation has; it lives as long as the arena. @throws CollError when full */
  allocate(dtype: DType, length: number): Tensor {
    const at = this.reserve(length * byteSize(dtype));
    return { data: viewOf(dtype, this.#memory.bytes, at, length), dtype, shape: [length], device: '' };
  }

  /** Byte offset of new memory of that many bytes. @throws CollError when the arena is full */
  reserve(bytes: number): number {
    const units = Math.ceil(bytes / unit);
    const at = Atomics.add(this.#used, 0, units) * unit;
    const { bytes: buffer } = this.#memory;
    const end = at + units * unit;
    if (end > buffer.maxByteLength) {
      Atomics.sub(this.#used, 0, units);
      throw new CollError(
        'ERR_COLL_BUFFER',
        `the shared arena of ${buffer.maxByteLength} bytes has no room for ${bytes} more; open the group with a larger maxBytes`,
      );
    }
    // Doubling keeps growth rare: after it, every thread makes its views anew.
    while (buffer.byteLength < end) {
      const next = Math.min(buffer.maxByteLength, Math.max(end, buffer.byteLength * 2));
      try {
        buffer.grow(next);
      } catch (error) {
        // Another thread grew it further in the meantime, or there is no memory.
        if (buffer.byteLength < next)
          throw new CollError('ERR_COLL_BUFFER', `the shared arena cannot grow to ${next} bytes`, { cause: error });
      }
    }
    return at;
  }

  get bytes(): SharedArrayBuffer {
    return this.#memory.bytes;
  }

  /** Whether an array lies in this arena, so that every member can read it. */
  holds(data: TypedArray): boolean {
    return data.buffer === this.#memory.bytes;
  }

  /** All of the arena as elements of a dtype. */
  elements(dtype: DType): TypedArray {
    const { bytes } = this.#memory;
    if (bytes.byteLength !== this.#viewedBytes) {
      this.#views.clear();
      this.#viewedBytes = bytes.byteLength;
    }
    const known = this.#views.get(dtype);
    if (known) return known;
    // An explicit length: arrays that track the length of a growable buffer are several times slower.
    const made = viewOf(dtype, bytes, 0, Math.floor(this.#viewedBytes / byteSize(dtype)));
    this.#views.set(dtype, made);
    return made;
  }
}
