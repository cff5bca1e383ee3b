import { CollError, canonicalize, DeviceSpec, type DType, ValueError } from '@coll/core';
import { byteSize, deviceType, logFirst } from '@coll/core/plugin';
import { settled } from './failures.js';
import type { BufferHandle, NcclBinding } from './nccl-binding.js';
import { runtime } from './probe.js';

/** One allocation of GPU memory. Several buffers may be parts of it. */
export class GpuMemory {
  readonly binding: NcclBinding;
  readonly device: number;
  readonly byteLength: number;
  readonly #handle: BufferHandle;
  /** Owner of memory that was allocated elsewhere; kept alive as long as this object. */
  readonly #owner: unknown;
  #isFreed = false;

  private constructor(binding: NcclBinding, device: number, byteLength: number, handle: BufferHandle, owner?: unknown) {
    this.binding = binding;
    this.device = device;
    this.byteLength = byteLength;
    this.#handle = handle;
    this.#owner = owner;
  }

  /**
   * Allocates memory. If the GPU has not enough memory, this succeeds, but operations that use the
   * memory are rejected.
   */
  static allocate(device: number, byteLength: number, binding = runtime().binding): GpuMemory {
    return new GpuMemory(binding, device, byteLength, binding.allocate(device, byteLength));
  }

  /**
   * Wraps memory that was allocated elsewhere and that this object never frees. Keeps `owner`
   * alive.
   */
  static adopt(device: number, pointer: bigint, byteLength: number, owner: unknown): GpuMemory {
    const { binding } = runtime();
    return new GpuMemory(binding, device, byteLength, binding.adopt(device, pointer, byteLength), owner);
  }

  /** @throws CollError once the memory has been freed */
  get handle(): BufferHandle {
    if (!this.#isFreed) return this.#handle;
    throw new CollError('ERR_COLL_BUFFER', `this memory of gpu:${this.device} was disposed of; allocate new memory`);
  }

  get isFreed(): boolean {
    return this.#isFreed;
  }

  /** Whether the memory was allocated elsewhere. */
  get isAdopted(): boolean {
    return this.#owner !== undefined;
  }

  /** Frees the memory after all previous operations. Idempotent. */
  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.binding.free(this.#handle);
  }

  /** The address of this memory on the GPU; resolves once the memory has been allocated. */
  address(): Promise<bigint> {
    return settled(this.binding.address(this.handle), { operation: 'allocate' });
  }
}

/**
 * The index of a GPU of this process, from a name such as `gpu:1`.
 * @throws ValueError if this process has no such GPU
 */
export function gpuIndex(device: string): number {
  const { type, index = 0 } = DeviceSpec.fromString(canonicalize(device)).fields;
  const { devices } = runtime();
  if (type === 'GPU' && index < devices.length) return index;
  const there = devices.length === 1 ? 'gpu:0 only' : `gpu:0 to gpu:${devices.length - 1}`;
  throw new ValueError('ERR_COLL_DEVICE', `${device} is not a GPU of this process, which has ${there}`);
}

/** Whether a device name is that of a GPU. */
export function isGpu(device: string): boolean {
  return device !== '' && deviceType(device) === 'GPU';
}

/**
 * Whether all devices are GPUs and no GPU is listed twice.
 * @throws ValueError for a GPU that this process does not have
 */
export function haveGpuEach(devices: readonly string[]): boolean {
  return devices.every(isGpu) && new Set(devices.map(gpuIndex)).size === devices.length;
}

/**
 * Warns, once per process, of a GPU resource that was garbage-collected before it was disposed of:
 * the garbage collector does not know how scarce GPU memory is.
 */
export const leftBehind = new FinalizationRegistry<string>((message) => {
  logFirst(1, 'left behind on GPUs', 'warn', message);
});

/** Size of `length` elements in bytes. @throws ValueError for an invalid length */
export function bytesOf(dtype: DType, length: number): number {
  if (!(Number.isSafeInteger(length) && length >= 0))
    throw new ValueError('ERR_COLL_VALUE', `the number of elements must be a whole number, 0 or more, got ${length}`);
  const bytes = length * byteSize(dtype);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new ValueError('ERR_COLL_VALUE', `${length} elements of ${dtype} are more than any memory can hold`);
}
