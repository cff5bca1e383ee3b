import { CollError, canonicalize, DeviceSpec, type DType, ValueError } from '@coll/core';
import { byteSize, deviceType, logFirst } from '@coll/core/plugin';
import { settled } from './failures.js';
import type { BufferHandle, NcclBinding } from './nccl-binding.js';
import { runtime } from './probe.js';

/** Where memory of a GPU comes from, and how it is given back. Several buffers may be parts of one. */
export class GpuMemory {
  readonly binding: NcclBinding;
  readonly device: number;
  readonly byteLength: number;
  readonly #handle: BufferHandle;
  /** Memory of somebody else lives as long as this. */
  readonly #owner: unknown;
  #isFreed = false;

  private constructor(binding: NcclBinding, device: number, byteLength: number, handle: BufferHandle, owner?: unknown) {
    this.binding = binding;
    this.device = device;
    this.byteLength = byteLength;
    this.#handle = handle;
    this.#owner = owner;
  }

  /** New memory; where there is none left, whatever uses it is rejected. */
  static allocate(device: number, byteLength: number, binding = runtime().binding): GpuMemory {
    return new GpuMemory(binding, device, byteLength, binding.allocate(device, byteLength));
  }

  /** Memory that was allocated elsewhere and is never freed here; `owner` is kept alive as long as this is. */
  static adopt(device: number, pointer: bigint, byteLength: number, owner: unknown): GpuMemory {
    const { binding } = runtime();
    return new GpuMemory(binding, device, byteLength, binding.adopt(device, pointer, byteLength), owner);
  }

  /** @throws CollError once it was freed */
  get handle(): BufferHandle {
    if (!this.#isFreed) return this.#handle;
    throw new CollError('ERR_COLL_BUFFER', `this memory of gpu:${this.device} was disposed of; allocate new memory`);
  }

  get isFreed(): boolean {
    return this.#isFreed;
  }

  /** Whether somebody else owns it. */
  get isAdopted(): boolean {
    return this.#owner !== undefined;
  }

  /** Gives it back after everything that uses it so far. May be called again. */
  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.binding.free(this.#handle);
  }

  /** Where it is, once it is there. */
  address(): Promise<bigint> {
    return settled(this.binding.address(this.handle), { operation: 'allocate' });
  }
}

/** The number of a GPU of this process, from a name such as `gpu:1`. @throws ValueError for what names no GPU, or one that is not here */
export function gpuIndex(device: string): number {
  const { type, index = 0 } = DeviceSpec.fromString(canonicalize(device)).fields;
  const { devices } = runtime();
  if (type === 'GPU' && index < devices.length) return index;
  const there = devices.length === 1 ? 'gpu:0 only' : `gpu:0 to gpu:${devices.length - 1}`;
  throw new ValueError('ERR_COLL_DEVICE', `${device} is not a GPU of this process, which has ${there}`);
}

/** Whether a name is that of a GPU. */
export function isGpu(device: string): boolean {
  return device !== '' && deviceType(device) === 'GPU';
}

/** Whether these are GPUs, each another one. @throws ValueError for one that is not here */
export function haveGpuEach(devices: readonly string[]): boolean {
  return devices.every(isGpu) && new Set(devices.map(gpuIndex)).size === devices.length;
}

/** Warns once of what was left to the garbage collector, which does not know how scarce it is. */
export const leftBehind = new FinalizationRegistry<string>((told) => {
  logFirst(1, 'left behind on GPUs', 'warn', told);
});

/** Bytes of so many elements. @throws ValueError for no number of elements */
export function bytesOf(dtype: DType, length: number): number {
  if (!(Number.isSafeInteger(length) && length >= 0))
    throw new ValueError('ERR_COLL_VALUE', `the number of elements must be a whole number, 0 or more, got ${length}`);
  const bytes = length * byteSize(dtype);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new ValueError('ERR_COLL_VALUE', `${length} elements of ${dtype} are more than any memory can hold`);
}
