import {
  CollError,
  type DeviceMemory,
  type DType,
  type Tensor,
  type TensorCarrier,
  type TypedArray,
  tensor,
  tensorSymbol,
  ValueError,
} from '@coll/core';
import { encodeNumber } from '@coll/core/internal';
import { byteSize, elementCount, sameDevice, viewOf } from '@coll/core/plugin';
import { GpuTensor } from './device-tensor.js';
import { settled } from './failures.js';
import { bytesOf, GpuMemory, gpuIndex, leftBehind } from './gpu-memory.js';

/** The elements to copy. All fields count elements. */
export interface CopyRange {
  /** Index of the first element written. Default: 0. */
  readonly at?: number;
  /** Index of the first element read. Default: 0. */
  readonly from?: number;
  /** Number of elements. Default: all elements of the source from `from` on. */
  readonly length?: number;
}

/**
 * A range of elements in GPU memory. Accepted as a one-dimensional tensor wherever a tensor is.
 * Views share the memory of another buffer.
 *
 * Operations on the same memory execute in the order of the calls, even across devices, so you need
 * not await in between. A promise settles when the GPU has finished; until then, host memory that
 * the GPU reads or writes must stay valid.
 *
 * @example
 * ```ts
 * import { DeviceBuffer } from '@coll/nccl';
 *
 * using buffer = DeviceBuffer.allocate(0, 'float32', 4); // on gpu:0
 * await buffer.fill(1);
 * await buffer.view(2, 2).write(new Float32Array([3, 4]));
 * console.log(await buffer.read()); // Float32Array(4) [ 1, 1, 3, 4 ]
 * ```
 */
export class DeviceBuffer implements Disposable, AsyncDisposable, TensorCarrier {
  readonly dtype: DType;
  readonly length: number;
  /** Name of the GPU, such as `gpu:0`. */
  readonly device: string;
  /** The allocation that contains the elements. */
  readonly memory: GpuMemory;
  /** Offset of the first element in `memory`. */
  readonly byteOffset: number;
  readonly #isView: boolean;

  private constructor(memory: GpuMemory, dtype: DType, byteOffset: number, length: number, isView: boolean) {
    this.memory = memory;
    this.dtype = dtype;
    this.byteOffset = byteOffset;
    this.length = length;
    this.device = `gpu:${memory.device}`;
    this.#isView = isView;
  }

  /**
   * Allocates memory on the GPU with index `device`.
   * @throws ValueError for an invalid length; CollError if there is no GPU
   */
  static allocate(device: number, dtype: DType, length: number): DeviceBuffer {
    return new DeviceBuffer(GpuMemory.allocate(device, bytesOf(dtype, length)), dtype, 0, length, false);
  }

  /** A buffer at the beginning of existing memory. */
  static over(memory: GpuMemory, dtype: DType, length: number): DeviceBuffer {
    return new DeviceBuffer(memory, dtype, 0, length, false);
  }

  /** Size of all elements in bytes. */
  get byteLength(): number {
    return this.length * byteSize(this.dtype);
  }

  /**
   * Makes this buffer log a warning if its memory is garbage-collected before the buffer is
   * disposed of. Logs at most one such warning per process. Returns this buffer.
   */
  watched(): this {
    const message = `a DeviceBuffer of ${this.byteLength} bytes on ${this.device} was not disposed of`;
    leftBehind.register(this.memory, `${message}: use "using", or call dispose()`, this.memory);
    return this;
  }

  /**
   * The address of the first element on the GPU, for use by other libraries. `Gpu.waitFor` and
   * `Gpu.orderAfter` order the work of other libraries relative to operations on this buffer.
   */
  async pointer(): Promise<bigint> {
    return (await this.memory.address()) + BigInt(this.byteOffset);
  }

  /**
   * Copies host elements into this buffer from element `offset` on.
   * @throws ValueError for an array of another type, or one that is too long
   */
  async write(from: ArrayBufferView, { offset = 0 }: { readonly offset?: number } = {}): Promise<void> {
    const { data } = tensor(from, { dtype: this.dtype });
    this.#requireRange('write', offset, data.length);
    await settled(this.memory.binding.write(this.memory.handle, this.#byteAt(offset), data), { operation: 'write' });
  }

  /** Copies all elements to the host, into `into` (of equal length) or a new array. */
  async read(into?: ArrayBufferView): Promise<TypedArray> {
    const { data } = into ? tensor(into, { dtype: this.dtype }) : { data: this.#hostArray() };
    if (data.length !== this.length) throw this.#misfit('read', `an array of ${data.length}`);
    await settled(this.memory.binding.read(this.memory.handle, this.byteOffset, data), { operation: 'read' });
    return data;
  }

  /** Copies elements from another buffer of the same dtype, on any GPU. */
  async copyFrom(
    other: DeviceBuffer,
    { at = 0, from = 0, length = other.length - from }: CopyRange = {},
  ): Promise<void> {
    if (other.dtype !== this.dtype) throw this.#misfit('copyFrom', `a buffer of ${other.dtype}`);
    this.#requireRange('copyFrom', at, length);
    other.#requireRange('copyFrom', from, length);
    const bytes = length * byteSize(this.dtype);
    const { binding, handle } = this.memory;
    const copied = binding.copy(handle, this.#byteAt(at), other.memory.handle, other.#byteAt(from), bytes);
    await settled(copied, { operation: 'copy' });
  }

  /** Sets all elements to `value`. */
  async fill(value: number | bigint): Promise<void> {
    const element = viewOf(this.dtype, new ArrayBuffer(byteSize(this.dtype)), 0, 1);
    element[0] = encodeNumber(Number(value), this.dtype) as number;
    if (typeof value === 'bigint' && typeof element[0] === 'bigint') element[0] = value as never;
    const pattern = new Uint8Array(element.buffer);
    const filled = this.memory.binding.fill(this.memory.handle, this.byteOffset, this.byteLength, pattern);
    await settled(filled, { operation: 'fill' });
  }

  /**
   * A view of `length` elements from `start` on. The view keeps the memory alive; disposing of the
   * view frees nothing.
   */
  view(start: number, length: number): DeviceBuffer {
    this.#requireRange('view', start, length);
    return new DeviceBuffer(this.memory, this.dtype, this.#byteAt(start), length, true);
  }

  /** A tensor of all elements. @throws ValueError for a shape with another number of elements */
  tensor(shape: readonly number[] = [this.length], device = this.device): Tensor {
    if (elementCount(shape) !== this.length) throw this.#misfit('tensor', `the shape [${shape}]`);
    return new GpuTensor(new GpuElements(this), this.dtype, shape, device);
  }

  [tensorSymbol](): Tensor {
    return this.tensor();
  }

  /**
   * Frees the memory after all previous operations; later uses throw. Idempotent; does nothing for
   * a view.
   */
  dispose(): void {
    if (this.#isView) return;
    leftBehind.unregister(this.memory);
    this.memory.free();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.dispose();
  }

  #hostArray(): TypedArray {
    return viewOf(this.dtype, new ArrayBuffer(this.byteLength), 0, this.length);
  }

  #byteAt(element: number): number {
    return this.byteOffset + element * byteSize(this.dtype);
  }

  #requireRange(operation: string, start: number, length: number): void {
    const isInside = [start, length].every((count) => Number.isSafeInteger(count) && count >= 0);
    if (isInside && start + length <= this.length) return;
    throw this.#misfit(operation, `${length} elements from element ${start} on`);
  }

  #misfit(operation: string, given: string): ValueError {
    const own = `${this.length} elements of ${this.dtype} on ${this.device}`;
    return new ValueError('ERR_COLL_BUFFER', `${operation}: ${given} does not fit a buffer of ${own}`, { operation });
  }
}

/** Represents a GPU buffer as a `DeviceMemory` of `@coll/core`. */
class GpuElements implements DeviceMemory {
  readonly buffer: DeviceBuffer;

  constructor(buffer: DeviceBuffer) {
    this.buffer = buffer;
  }

  get length(): number {
    return this.buffer.length;
  }

  view(shape: readonly number[], device: string): Tensor {
    if (sameDevice(device, this.buffer.device) || gpuIndex(device) === this.buffer.memory.device)
      return this.buffer.tensor(shape, device);
    const advice = 'copy the memory with broadcast or copyFrom';
    throw new ValueError(
      'ERR_COLL_DEVICE',
      `memory of ${this.buffer.device} cannot be used as memory of ${device}; ${advice}`,
    );
  }

  copy(shape: readonly number[], device: string): Tensor {
    const { dtype, length } = this.buffer;
    const copied = DeviceBuffer.allocate(gpuIndex(device), dtype, length);
    takeOver(copied, this.buffer);
    return copied.tensor(shape, device);
  }

  set(from: Tensor): void {
    takeOver(this.buffer, bufferOf(from));
  }
}

/**
 * The buffer of a tensor in GPU memory.
 * @throws CollError for a tensor in host memory, or in memory of another package
 *
 * @example
 * ```ts
 * import { bufferOf, gpus } from '@coll/nccl';
 *
 * const [gpu] = gpus();
 * using buffer = await gpu?.upload(new Float32Array([1, 2]), 'float32');
 * const row = buffer?.tensor([1, 2]);
 * console.log(row && bufferOf(row).length); // 2
 * ```
 */
export function bufferOf(tensor: Tensor): DeviceBuffer {
  if (tensor.memory instanceof GpuElements) return tensor.memory.buffer;
  const problem = tensor.memory ? 'has memory that was not allocated by this package' : 'has its data in host memory';
  throw new CollError('ERR_COLL_BUFFER', `a tensor on "${tensor.device}" ${problem}`);
}

/** Whether the elements of a tensor are in the memory of a GPU. */
export function isOnGpu(tensor: Tensor): boolean {
  return tensor.memory instanceof GpuElements;
}

/**
 * Starts copying elements between buffers. If the copy fails, the next use of the target's memory
 * fails, too.
 */
function takeOver(into: DeviceBuffer, from: DeviceBuffer): void {
  into.copyFrom(from).catch(() => undefined);
}
