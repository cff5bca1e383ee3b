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

/** Which elements are copied; all counts are elements. */
export interface CopyRange {
  /** The first element that is written. Default: 0. */
  readonly at?: number;
  /** The first element that is read. Default: 0. */
  readonly from?: number;
  /** Default: as many as the source has from there on. */
  readonly length?: number;
}

/**
 * Elements in the memory of a GPU, or some of another buffer's. Accepted wherever a tensor is, as a
 * tensor of one dimension.
 *
 * Operations on one memory execute in the order of the calls, on any device, so nothing has to be
 * awaited in between. A promise settles when the GPU has finished; host memory that it reads or
 * writes must stay valid until then.
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
  /** `gpu:0` and the like. */
  readonly device: string;
  /** What it is a part of. */
  readonly memory: GpuMemory;
  /** Where it begins there. */
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

  /** New memory of GPU number `device`. @throws ValueError; CollError where there is no GPU */
  static allocate(device: number, dtype: DType, length: number): DeviceBuffer {
    return new DeviceBuffer(GpuMemory.allocate(device, bytesOf(dtype, length)), dtype, 0, length, false);
  }

  /** Elements in memory of somebody else. */
  static over(memory: GpuMemory, dtype: DType, length: number): DeviceBuffer {
    return new DeviceBuffer(memory, dtype, 0, length, false);
  }

  /** Bytes of all elements. */
  get byteLength(): number {
    return this.length * byteSize(this.dtype);
  }

  /** Has a warning logged, once a process, where it is left to the garbage collector. */
  watched(): this {
    const told = `a DeviceBuffer of ${this.byteLength} bytes on ${this.device} was not disposed of`;
    leftBehind.register(this.memory, `${told}: use "using", or call dispose()`, this.memory);
    return this;
  }

  /** The address on the GPU, for other libraries, which must order their work themselves: `Gpu.waitFor`, `Gpu.orderAfter`. */
  async pointer(): Promise<bigint> {
    return (await this.memory.address()) + BigInt(this.byteOffset);
  }

  /** Copies elements of the host, from element `offset` on. @throws ValueError for an array of another kind, or a longer one */
  async write(from: ArrayBufferView, { offset = 0 }: { readonly offset?: number } = {}): Promise<void> {
    const { data } = tensor(from, { dtype: this.dtype });
    this.#requireRange('write', offset, data.length);
    await settled(this.memory.binding.write(this.memory.handle, this.#byteAt(offset), data), { operation: 'write' });
  }

  /** Copies all elements to the host, into an array of as many or a new one. */
  async read(into?: ArrayBufferView): Promise<TypedArray> {
    const { data } = into ? tensor(into, { dtype: this.dtype }) : { data: this.#hostArray() };
    if (data.length !== this.length) throw this.#misfit('read', `an array of ${data.length}`);
    await settled(this.memory.binding.read(this.memory.handle, this.byteOffset, data), { operation: 'read' });
    return data;
  }

  /** Copies elements of another buffer of the same dtype, on this GPU or another. */
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

  /** Sets all elements to a number. */
  async fill(value: number | bigint): Promise<void> {
    const element = viewOf(this.dtype, new ArrayBuffer(byteSize(this.dtype)), 0, 1);
    element[0] = encodeNumber(Number(value), this.dtype) as number;
    if (typeof value === 'bigint' && typeof element[0] === 'bigint') element[0] = value as never;
    const pattern = new Uint8Array(element.buffer);
    const filled = this.memory.binding.fill(this.memory.handle, this.byteOffset, this.byteLength, pattern);
    await settled(filled, { operation: 'fill' });
  }

  /** Some of the elements, in the same memory, which it keeps alive. Disposing of a view frees nothing. */
  view(start: number, length: number): DeviceBuffer {
    this.#requireRange('view', start, length);
    return new DeviceBuffer(this.memory, this.dtype, this.#byteAt(start), length, true);
  }

  /** A tensor of these elements. @throws ValueError for a shape of another number */
  tensor(shape: readonly number[] = [this.length], device = this.device): Tensor {
    if (elementCount(shape) !== this.length) throw this.#misfit('tensor', `the shape [${shape}]`);
    return new GpuTensor(new GpuElements(this), this.dtype, shape, device);
  }

  [tensorSymbol](): Tensor {
    return this.tensor();
  }

  /** Gives the memory back after everything that uses it so far; whatever uses it later throws. May be called again. */
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

/** What core knows of a buffer on a GPU. */
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
    const cure = 'copy the memory with broadcast or copyFrom';
    throw new ValueError(
      'ERR_COLL_DEVICE',
      `memory of ${this.buffer.device} cannot be used as memory of ${device}; ${cure}`,
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
 * The buffer of a tensor that is on a GPU.
 * @throws CollError for a tensor of the host, and for memory of other libraries
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
  const told = tensor.memory ? 'has memory that was not allocated by this package' : 'has its data in host memory';
  throw new CollError('ERR_COLL_BUFFER', `a tensor on "${tensor.device}" ${told}`);
}

/** Whether the elements of a tensor are in the memory of a GPU. */
export function isOnGpu(tensor: Tensor): boolean {
  return tensor.memory instanceof GpuElements;
}

/** Starts a copy. Where it fails, whoever uses the memory next is told: it is spoiled. */
function takeOver(into: DeviceBuffer, from: DeviceBuffer): void {
  into.copyFrom(from).catch(() => undefined);
}
