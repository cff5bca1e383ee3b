import { type Tensor, type TypedArray, tensor, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { defaultDevice, Array as JaxArray, numpy as np } from '@jax-js/jax';

export type { JaxArray };

/** The elements of an array of jax-js, in its own order. Those of bool are 0 and 1 in an Int32Array. */
export type Elements = Awaited<ReturnType<JaxArray['data']>>;

/** What an array is, besides its elements. */
export interface Form {
  readonly dtype: string;
  readonly shape: readonly number[];
}

const constructors = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint32: Uint32Array } as const;

export const isJaxArray = (value: unknown): value is JaxArray => value instanceof JaxArray;

/** Whether a value is an array of jax-js or a tracer, of this copy of jax-js or of another one. */
export function isLikeArray(value: unknown): boolean {
  if (isJaxArray(value)) return true;
  const { dtype, shape } = Object(value) as Partial<JaxArray>;
  // Reading `ref` would count a reference.
  return typeof dtype === 'string' && Array.isArray(shape) && 'ref' in (value as object);
}

/**
 * @throws ValueError unless a value is an array of jax-js, outside of traced functions, whose dtype this runtime can
 * read
 */
export function requireArray(value: unknown, name: string, operation: string): asserts value is JaxArray {
  requireConcrete(value, name, operation);
  requireReadable(value.dtype, name, operation);
}

/** @throws ValueError unless a value is an array of jax-js, outside of traced functions */
export function requireConcrete(value: unknown, name: string, operation: string): asserts value is JaxArray {
  if (isJaxArray(value)) return;
  if (!isLikeArray(value)) throw invalid(operation, `${name} must be an array of jax-js, got ${quote(value)}`);
  if (isTraced(value)) throw traced(name, operation);
  throw invalid(
    operation,
    `${name} belongs to another copy of @jax-js/jax; install one version, and import it everywhere instead of require()`,
  );
}

/** Whether a value is a tracer, which jax-js passes to a function that it traces. */
export function isTraced(value: unknown): boolean {
  return isLikeArray(value) && !isJaxArray(value) && typeof (value as JaxArray).data !== 'function';
}

export function traced(name: string, operation: string): ValueError {
  const cure =
    operation === 'dataParallel'
      ? 'wrap the traced function in it, as dataParallel(context, jit(valueAndGrad(loss))) does'
      : `call ${operation} outside of jit, grad and vmap, on the arrays that the traced function returns`;
  return invalid(operation, `${name} is being traced; ${cure}`);
}

/** jax-js names `Float16Array` whenever it reads these dtypes, also where a runtime lacks it. */
function requireReadable(dtype: string, name: string, operation: string): void {
  if ((dtype !== 'float16' && dtype !== 'float64') || 'Float16Array' in globalThis) return;
  throw invalid(
    operation,
    `${name} is ${dtype}, which jax-js cannot read in a runtime without Float16Array; use Node 24 or newer, or astype(np.float32)`,
  );
}

/** @throws ValueError unless arrays of this dtype can be averaged */
export function requireFloating({ dtype }: Form, name: string, operation: string): void {
  if (dtype.startsWith('float')) return;
  throw invalid(operation, `${name} is ${dtype}, which has no mean; use astype(np.float32) first`);
}

/** An array of these elements, on the device of another one. */
export function arrayOf(elements: Elements, { dtype, shape }: Form, device: JaxArray['device']): JaxArray {
  const form = { dtype: dtype as JaxArray['dtype'], shape: [...shape] };
  // An array that is put on a device stays there; one of the default device may move with others.
  const place = device === defaultDevice() ? form : { ...form, device };
  return elements.length === 0 ? np.zeros(form.shape, place) : np.array(elements, place);
}

/** New elements of zero. */
export function zerosOf({ dtype, shape }: Form): Elements {
  return elementsIn(new ArrayBuffer(sizeOf(shape) * bytesOf(dtype)), dtype);
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, length) => size * length, 1);
}

export function bytesOf(dtype: string): number {
  return dtype === 'float16' ? 2 : dtype === 'float64' ? 8 : 4;
}

/** The elements in a buffer. */
export function elementsIn(buffer: ArrayBuffer, dtype: string, byteOffset = 0, length?: number): Elements {
  if (dtype === 'float16') {
    const { Float16Array } = globalThis as unknown as { readonly Float16Array: Float32ArrayConstructor };
    return new Float16Array(buffer, byteOffset, length) as Elements;
  }
  const type = constructors[(dtype === 'bool' ? 'int32' : dtype) as keyof typeof constructors];
  return new type(buffer, byteOffset, length);
}

/** The same memory, as collectives take it. */
export function carried(elements: Elements, dtype: string): TypedArray | Tensor {
  if (dtype !== 'float16') return elements as TypedArray;
  const { buffer, byteOffset, length } = elements;
  return tensor(new Uint16Array(buffer, byteOffset, length), { dtype: 'float16' });
}

export function invalid(operation: string, message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`, { operation });
}
