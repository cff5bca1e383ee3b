import { DistributedValues, IndexedSlices, type PossiblyMirrored, type Tensor, tensor, type Value } from '@coll/core';
import { deviceType, mirror } from '@coll/core/plugin';
import { bufferOf, DeviceBuffer, isOnGpu } from './device-buffer.js';
import { gpuIndex } from './gpu-memory.js';

/** Whether a tensor, or a part of sparse slices, is in the memory of a GPU. */
export function isValueOnGpu(value: Value): boolean {
  if (value instanceof IndexedSlices) return isOnGpu(value.values) || isOnGpu(value.indices);
  return isOnGpu(value);
}

/**
 * Copies a tensor or slices to host memory; the copy keeps its device name. Host values are
 * returned unchanged.
 * @throws CollError for device memory of another package
 *
 * @example
 * ```ts
 * import { gpus, toHost } from '@coll/nccl';
 *
 * const [gpu] = gpus();
 * using buffer = await gpu?.upload(new Float32Array([1, 2]), 'float32');
 * const onHost = buffer && (await toHost(buffer.tensor()));
 * console.log(onHost?.data); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export async function toHost(value: Tensor): Promise<Tensor>;
export async function toHost(value: Value): Promise<Value>;
export async function toHost(value: Value): Promise<Value> {
  if (value instanceof IndexedSlices) {
    const [values, indices] = await Promise.all([toHost(value.values), toHost(value.indices)]);
    return new IndexedSlices(values, indices, value.denseShape);
  }
  if (!isOnGpu(value)) return value;
  const { dtype, shape, device } = value;
  return tensor(await bufferOf(value).read(), { dtype, shape, device });
}

/**
 * Copies the components of a host result to the GPUs that they name as their devices; other
 * components stay on the host.
 */
export async function toGpus(result: PossiblyMirrored): Promise<PossiblyMirrored> {
  if (!(result instanceof DistributedValues)) return toGpu(result);
  return mirror(await Promise.all(result.values.map(toGpu)));
}

async function toGpu(value: Value): Promise<Value> {
  if (value instanceof IndexedSlices) {
    const [values, indices] = await Promise.all([toGpu(value.values), toGpu(value.indices)]);
    return new IndexedSlices(values as Tensor, indices as Tensor, value.denseShape);
  }
  return deviceType(value.device) === 'GPU' ? uploaded(value) : value;
}

/** Copies a host tensor to the memory of `device`. */
async function uploaded(value: Tensor, device = value.device): Promise<Tensor> {
  const { dtype, shape, data } = value;
  const buffer = DeviceBuffer.allocate(gpuIndex(device), dtype, data.length);
  await buffer.write(data);
  return buffer.tensor(shape, device);
}
