import { ValueError } from '@coll/core';
import { elementsNow, viewOf } from './tensor-memory.js';
import {
  elementsOf,
  type TensorFlow,
  type TfData,
  type TfGradient,
  type TfTensor,
  type TfVariable,
} from './tensorflow.js';

/** The memory from which a gradient is read, and to which its mean is written. */
export interface GradientMemory {
  readonly input: Float32Array;
  readonly output: Float32Array;
  /**
   * The tensor that owns the memory of `output`; if undefined, the caller must create a tensor from
   * `output`.
   */
  readonly tensor?: TfTensor;
}

/**
 * Returns views of the gradients' own memory on the cpu and WASM backends, and copies on the other
 * backends. Views are valid until the next allocation of TensorFlow.js, which may move the WASM
 * heap.
 *
 * If `mayWrite`, means are written to the gradients' own memory on the WASM backend. Not on the cpu
 * backend, where a tensor shares the memory of the typed array that it was created from, and not if
 * several tensors share the memory of a gradient: another gradient may use it (as in the gradients
 * of a sum), or a tensor of the user. Which gradients share memory may differ between replicas, so
 * each of these gradients is still reduced separately.
 * @throws ValueError for a gradient that is not float32 or not of its variable's size;
 * NotImplementedError on WebGPU
 */
export function memoryOf(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  gradients: readonly TfGradient[],
  mayWrite: boolean,
): (GradientMemory | undefined)[] {
  const owners = new Map<object, number>();
  for (const gradient of gradients) if (gradient) owners.set(gradient.dataId, (owners.get(gradient.dataId) ?? 0) + 1);
  const isInHeap = mayWrite && tf.getBackend() === 'wasm';
  return gradients.map((gradient, index) => {
    if (!gradient) return undefined;
    requireGradientOf(variables[index] as TfVariable, gradient);
    const view = viewOf(tf, gradient);
    const isOwnedOnce = () => owners.get(gradient.dataId) === 1 && tf.backend().refCount(gradient.dataId) === 1;
    if (view && isInHeap && isOwnedOnce()) return { input: view, output: view, tensor: gradient };
    return outOfPlace(view ?? elementsNow(tf, gradient));
  });
}

/**
 * Returns the gradients in memory that stays valid while other code runs, as asynchronous
 * reductions need it. Results are not written in place.
 */
export async function lastingMemoryOf(
  variables: readonly TfVariable[],
  gradients: readonly TfGradient[],
): Promise<(GradientMemory | undefined)[]> {
  return Promise.all(
    gradients.map(async (gradient, index) => {
      if (!gradient) return undefined;
      requireGradientOf(variables[index] as TfVariable, gradient);
      return outOfPlace(await gradient.data());
    }),
  );
}

/**
 * Returns zeros, for a variable on which this replica's loss does not depend and which therefore
 * has no gradient.
 */
export function zeroMemory({ size }: TfVariable): GradientMemory {
  const zeros = new Float32Array(size);
  return { input: zeros, output: zeros };
}

function outOfPlace(data: TfData): GradientMemory {
  const input = elementsOf(data, 'float32') as Float32Array;
  return { input, output: new Float32Array(input.length) };
}

function requireGradientOf(variable: TfVariable, { dtype, shape, size }: TfTensor): void {
  if (dtype === 'float32' && size === variable.size) return;
  const message = `the gradient of variable "${variable.name}" is ${dtype} [${shape}]`;
  throw new ValueError('ERR_COLL_VALUE', `${message}; it must be float32 of the variable's shape [${variable.shape}]`);
}
