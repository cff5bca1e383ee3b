import { type DType, type TypedArray, tensor, ValueError } from '@coll/core';
import { isDType, knownOptions, optionsOf, quote } from '@coll/core/internal';
import { byteSize, viewOf } from '@coll/core/plugin';
import { DeviceBuffer } from './device-buffer.js';
import { settled } from './failures.js';
import { bytesOf, GpuMemory } from './gpu-memory.js';
import type { DeviceFinding } from './nccl-binding.js';
import { runtime } from './probe.js';

/**
 * Memory allocated by another library. If two buffers are created at the same address, they count
 * as different memory: operations on one buffer do not wait for operations on the other.
 */
export interface ForeignMemory {
  readonly pointer: bigint;
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  /**
   * The object that frees the memory; kept alive as long as the buffer. The memory must remain
   * until all operations on it have settled.
   */
  readonly owner: unknown;
  /**
   * A CUDA stream that still writes the memory. Operations on the buffer wait for the work that is
   * in this stream at the time of the call.
   */
  readonly stream?: bigint | undefined;
}

const foreignMemory = knownOptions<ForeignMemory>('fromPointer', {
  pointer: true,
  dtype: true,
  length: true,
  owner: true,
  stream: true,
});

/** Host memory that the GPU accesses directly, so that transfers need no extra copy. */
export interface PinnedArray extends Disposable {
  readonly array: TypedArray;
  /** Detaches `array`, and frees the memory once nothing uses it. */
  dispose(): void;
}

/**
 * A GPU of this process.
 *
 * @example
 * ```ts
 * import { gpus } from '@coll/nccl';
 *
 * const [gpu] = gpus();
 * using gradient = await gpu?.upload(new Float32Array([1, 2]), 'float32');
 * console.log(gpu?.name, gradient?.byteLength); // gpu:0 8
 * ```
 */
export class Gpu {
  readonly index: number;
  /** Name of the GPU, such as `gpu:0`. */
  readonly name: string;
  /** What the driver reports about this GPU. */
  readonly info: DeviceFinding;

  constructor(info: DeviceFinding) {
    this.index = info.index;
    this.name = `gpu:${info.index}`;
    this.info = info;
  }

  /**
   * Allocates uninitialized memory. Dispose of it: the garbage collector does not know how scarce
   * GPU memory is.
   * @throws ValueError for an unknown dtype or an invalid length
   */
  alloc(dtype: DType, length: number): DeviceBuffer {
    requireDType(dtype);
    return DeviceBuffer.allocate(this.index, dtype, length).watched();
  }

  /**
   * Copies elements into new memory. `from` must not change until the promise settles.
   * @throws ValueError for an array of another type
   */
  async upload(from: ArrayBufferView, dtype: DType): Promise<DeviceBuffer> {
    requireDType(dtype);
    const { data } = tensor(from, { dtype });
    const buffer = this.alloc(dtype, data.length);
    try {
      await buffer.write(data);
      return buffer;
    } catch (error) {
      buffer.dispose();
      throw error;
    }
  }

  /** Allocates pinned host memory. */
  async allocHost(dtype: DType, length: number): Promise<PinnedArray> {
    requireDType(dtype);
    const { binding } = runtime();
    const memory = await settled(binding.allocateHost(bytesOf(dtype, length)), { operation: 'allocHost' });
    const dispose = () => binding.freeHost(memory);
    return { array: viewOf(dtype, memory, 0, length), dispose, [Symbol.dispose]: dispose };
  }

  /**
   * Free and total bytes on this GPU, as the driver counts them for all processes. Memory that was
   * freed with `dispose` counts as used, because it is kept for reuse.
   */
  memory(): Promise<{ readonly free: number; readonly total: number }> {
    return settled(runtime().binding.memory(this.index), { operation: 'memory' });
  }

  /**
   * A buffer over memory of another library. Disposing of the buffer does not free the memory.
   * @throws ValueError if it is not memory of this GPU, or ends before `length` elements
   */
  async fromPointer(foreign: ForeignMemory): Promise<DeviceBuffer> {
    const { pointer, dtype, length, owner, stream } = optionsOf(
      foreign,
      'fromPointer({ pointer, dtype, length, owner })',
      foreignMemory,
    ) as ForeignMemory;
    requireDType(dtype);
    requireAddress('fromPointer', pointer);
    if (pointer % BigInt(byteSize(dtype)) !== 0n) {
      const message = `fromPointer: the address of ${dtype} elements must be a multiple of ${byteSize(dtype)}, got ${pointer}`;
      throw new ValueError('ERR_COLL_VALUE', message, { operation: 'fromPointer' });
    }
    if (owner === undefined || owner === null) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        'fromPointer: pass the owner of the memory, which is kept alive as long as the buffer',
      );
    }
    const memory = GpuMemory.adopt(this.index, pointer, bytesOf(dtype, length), owner);
    try {
      await memory.address();
      if (stream !== undefined) await this.waitFor(stream);
    } catch (error) {
      memory.free();
      throw error;
    }
    return DeviceBuffer.over(memory, dtype, length);
  }

  /**
   * Makes later operations on this GPU wait for the work that is now in another library's CUDA
   * stream.
   */
  async waitFor(stream: bigint): Promise<void> {
    requireStream('waitFor', stream);
    await settled(runtime().binding.waitFor(this.index, stream), { operation: 'waitFor' });
  }

  /**
   * Makes later work in another library's CUDA stream wait for all previous operations on this
   * buffer. Settles when this order is set up, not when the operations are done.
   */
  async orderAfter(stream: bigint, buffer: DeviceBuffer): Promise<void> {
    requireStream('orderAfter', stream);
    await settled(runtime().binding.orderAfter(stream, buffer.memory.handle), { operation: 'orderAfter' });
  }
}

/**
 * The GPUs of this process.
 * @throws CollError if there is no GPU or no NCCL
 *
 * @example
 * ```ts
 * import { gpus, probe } from '@coll/nccl';
 *
 * const devices = probe().available ? gpus().map(({ name }) => name) : ['cpu:0'];
 * console.log(devices[0]); // gpu:0
 * ```
 */
export function gpus(): readonly Gpu[] {
  return runtime().devices.map((info) => new Gpu(info));
}

function requireDType(dtype: unknown): void {
  if (!isDType(dtype)) throw new ValueError('ERR_COLL_VALUE', `unknown dtype ${quote(dtype)}`);
}

function requireAddress(operation: string, address: unknown): void {
  if (typeof address === 'bigint' && BigInt.asUintN(64, address) === address) return;
  const message = `${operation}: the address must be a 64-bit bigint, got ${quote(address)}`;
  throw new ValueError('ERR_COLL_VALUE', message, { operation });
}

// CUDA's handle of the per-thread default stream.
const streamOfTheThread = 2n;

function requireStream(operation: string, stream: unknown): void {
  requireAddress(operation, stream);
  if (stream !== streamOfTheThread) return;
  const message = `${operation}: stream 2 means the default stream of the calling thread, but this package works in another thread: pass an explicit stream`;
  throw new ValueError('ERR_COLL_VALUE', message, { operation });
}
