import { ValueError } from '@coll/core';
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

interface WasmBackend {
  typedArrayFromHeap(tensor: TfTensor): Float32Array;
}

/**
 * Returns views of the gradients' own memory on the cpu and WASM backends, and copies on the other
 * backends. Views are valid until the next allocation of TensorFlow.js, which may move the WASM
 * heap. If several tensors share the memory of a gradient, it is read but not written: another
 * gradient may use it (as in the gradients of a sum), or a tensor of the user. Which gradients
 * share memory may differ between replicas, so each of these gradients is still reduced separately.
 * @throws ValueError for a gradient that is not float32 or not of its variable's size
 */
export function memoryOf(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  gradients: readonly TfGradient[],
): (GradientMemory | undefined)[] {
  const owners = new Map<object, number>();
  for (const gradient of gradients) if (gradient) owners.set(gradient.dataId, (owners.get(gradient.dataId) ?? 0) + 1);
  return gradients.map((gradient, index) => {
    if (!gradient) return undefined;
    requireGradientOf(variables[index] as TfVariable, gradient);
    // `refCount` is 0 for a tensor that is still on another backend.
    const isOwnedOnce = owners.get(gradient.dataId) === 1 && tf.backend().refCount(gradient.dataId) === 1;
    const view = isOwnedOnce ? liveView(tf, gradient) : undefined;
    return view ? { input: view, output: view, tensor: gradient } : outOfPlace(gradient.dataSync());
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

function liveView(tf: TensorFlow, tensor: TfTensor): Float32Array | undefined {
  switch (tf.getBackend()) {
    case 'cpu': {
      const stored = tensor.dataSync();
      return stored instanceof Float32Array ? stored : undefined;
    }
    case 'wasm':
      return (tf.backend() as unknown as WasmBackend).typedArrayFromHeap(tensor);
    default:
      return undefined;
  }
}

function requireGradientOf(variable: TfVariable, { dtype, shape, size }: TfTensor): void {
  if (dtype === 'float32' && size === variable.size) return;
  const told = `the gradient of variable "${variable.name}" is ${dtype} [${shape}]`;
  throw new ValueError('ERR_COLL_VALUE', `${told}; it must be float32 of the variable's shape [${variable.shape}]`);
}
