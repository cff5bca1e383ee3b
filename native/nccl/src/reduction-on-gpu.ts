import type { CollectiveOp, PossiblyMirrored, Tensor } from '@coll/core';
import { deviceType, mirror, quotientOf } from '@coll/core/plugin';
import { bufferOf, DeviceBuffer, isOnGpu } from './device-buffer.js';
import { carrierOf, opNumbers } from './element-types.js';
import { errorFor } from './failures.js';
import { gpuIndex } from './gpu-memory.js';
import { toHost } from './host-values.js';
import { allEnded, divided } from './passage.js';

/**
 * Combines tensors in order on one GPU: the first destination or, if that is a CPU, the GPU of the
 * first tensor. Results for GPUs are in GPU memory, results for CPUs in host memory.
 */
export async function reduceToOneGpu(
  op: CollectiveOp,
  tensors: readonly Tensor[],
  destinations: readonly string[],
): Promise<PossiblyMirrored<Tensor>> {
  const [first] = tensors as readonly [Tensor];
  const target = [destinations[0] as string, first.device].find((device) => deviceType(device) === 'GPU') as string;
  const work = new WorkOnOneGpu(gpuIndex(target));
  try {
    const sum = work.combined(op, tensors);
    const result = op === 'mean' ? work.mean(sum, tensors.length) : sum;
    const own = destinations.findIndex((device) => deviceType(device) === 'GPU' && gpuIndex(device) === work.device);
    const placed = destinations.map((device, index) =>
      deviceType(device) === 'GPU' ? work.placed(result, first.shape, device, index === own) : undefined,
    );
    const onHost = result.tensor(first.shape);
    const copied = placed.map(async (tensor, index) => tensor ?? hostCopy(onHost, destinations[index] as string));
    await allEnded([...work.started, ...copied]);
    if (own < 0) result.dispose();
    return mirror(await Promise.all(copied));
  } catch (error) {
    throw errorFor(error, { operation: 'reduce' });
  } finally {
    work.free();
  }
}

/** Operations started on one GPU, and their temporary memory. */
class WorkOnOneGpu {
  readonly started: Promise<unknown>[] = [];
  readonly device: number;
  readonly #passing: DeviceBuffer[] = [];

  constructor(device: number) {
    this.device = device;
  }

  combined(op: CollectiveOp, tensors: readonly Tensor[]): DeviceBuffer {
    const inputs = tensors.map((tensor) => this.#operand(op, this.#here(tensor)));
    const [{ dtype, length, memory }] = inputs as [DeviceBuffer];
    const { binding } = memory;
    const sum = DeviceBuffer.allocate(this.device, dtype, length);
    const number = carrierOf(dtype).dtype;
    let rest = inputs;
    let isFirst = true;
    while (isFirst || rest.length > 0) {
      const taken = isFirst ? rest.slice(0, binding.mostInputs) : [sum, ...rest.slice(0, binding.mostInputs - 1)];
      rest = rest.slice(isFirst ? taken.length : taken.length - 1);
      isFirst = false;
      const handles = taken.map(({ memory: { handle } }) => handle);
      const offsets = Float64Array.from(taken, ({ byteOffset }) => byteOffset);
      this.started.push(binding.combine(sum.memory.handle, 0, handles, offsets, number, opNumbers[op], length));
    }
    return sum;
  }

  mean(sum: DeviceBuffer, divisor: number): DeviceBuffer {
    this.started.push(divided(sum.memory.binding, sum, sum, divisor));
    return sum;
  }

  /** The result as a tensor on `device`: without a copy if `isItself`, otherwise a copy. */
  placed(result: DeviceBuffer, shape: readonly number[], device: string, isItself: boolean): Tensor {
    if (isItself) return result.tensor(shape, device);
    const copied = DeviceBuffer.allocate(gpuIndex(device), result.dtype, result.length);
    this.started.push(copied.copyFrom(result));
    return copied.tensor(shape, device);
  }

  /** Frees the temporary memory after the operations that use it. */
  free(): void {
    for (const buffer of this.#passing) buffer.dispose();
  }

  /** A buffer in the dtype in which it is combined: integers of which the mean is computed become floats. */
  #operand(op: CollectiveOp, own: DeviceBuffer): DeviceBuffer {
    const dtype = op === 'mean' ? quotientOf(own.dtype) : own.dtype;
    if (dtype === own.dtype) return own;
    const converted = DeviceBuffer.allocate(this.device, dtype, own.length);
    this.#passing.push(converted);
    this.started.push(divided(own.memory.binding, converted, own, 1));
    return converted;
  }

  #here(tensor: Tensor): DeviceBuffer {
    const own = isOnGpu(tensor) ? bufferOf(tensor) : undefined;
    if (own?.memory.device === this.device) return own;
    const length = own ? own.length : tensor.data.length;
    const here = DeviceBuffer.allocate(this.device, tensor.dtype, length);
    this.#passing.push(here);
    this.started.push(own ? here.copyFrom(own) : here.write(tensor.data));
    return here;
  }
}

async function hostCopy(tensor: Tensor, device: string): Promise<Tensor> {
  return { ...(await toHost(tensor)), device };
}
