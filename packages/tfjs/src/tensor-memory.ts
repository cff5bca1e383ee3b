import { NotImplementedError } from '@coll/core';
import type { TensorFlow, TfData, TfTensor } from './tensorflow.js';

interface WasmBackend {
  typedArrayFromHeap(tensor: TfTensor): Float32Array;
}

/**
 * The elements of a float32 tensor in the CPU's memory, without a copy: on the cpu and WASM
 * backends, unless the tensor is still on another backend or is stored as another dtype. The view
 * is valid until the next allocation of TensorFlow.js, which may move the WASM heap.
 */
export function viewOf(tf: TensorFlow, tensor: TfTensor): Float32Array | undefined {
  const name = tf.getBackend();
  if (name !== 'cpu' && name !== 'wasm') return undefined;
  // `refCount` is 0 for a tensor that is still on another backend.
  if (tf.backend().refCount(tensor.dataId) === 0) return undefined;
  const stored =
    name === 'cpu' ? tensor.dataSync() : (tf.backend() as unknown as WasmBackend).typedArrayFromHeap(tensor);
  return stored instanceof Float32Array ? stored : undefined;
}

/**
 * The elements of a tensor, read without waiting for other code of this thread.
 * @throws NotImplementedError on WebGPU, where TensorFlow.js may read zeros in a worker, and lose the GPU
 */
export function elementsNow(tf: TensorFlow, tensor: TfTensor): TfData {
  if (tf.getBackend() !== 'webgpu') return tensor.dataSync();
  const cure =
    'use reduceGradients, initialize the weights of all replicas from the same seed, and pass arrays or a dataset to shareOf';
  throw new NotImplementedError(
    'ERR_COLL_NOT_IMPLEMENTED',
    `the webgpu backend cannot be read by calls that block; ${cure}`,
  );
}
