import { RuntimeError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { arrayTypes, type CarriedDType, elementsOf, isCarried, type TensorFlow, type TfTensor } from './tensorflow.js';

/** Name, dtype and shape of an array. */
export interface ArraySpec {
  readonly name: string;
  readonly dtype: CarriedDType;
  readonly shape: readonly number[];
}

/** The elements of a tensor, outside of TensorFlow.js. */
export interface NamedArray extends ArraySpec {
  readonly values: Float32Array | Int32Array | Uint8Array;
}

/** Copies the elements of a tensor. @throws RuntimeError unless they are float32, int32 or bool */
export async function arrayOf(name: string, tensor: TfTensor): Promise<NamedArray> {
  const { dtype, shape } = tensor;
  if (!isCarried(dtype)) throw invalid(`"${name}" has the dtype ${dtype}, which must be float32, int32 or bool`);
  return { name, dtype, shape: [...shape], values: elementsOf(await tensor.data(), dtype).slice() };
}

/** Creates a tensor with a copy of the elements, because the cpu backend keeps the array that it gets. */
export function tensorOf(tf: TensorFlow, { values, shape, dtype }: NamedArray): TfTensor {
  return tf.tensor(values.slice(), [...shape], dtype);
}

export function specsOf(arrays: readonly NamedArray[]): ArraySpec[] {
  return arrays.map(({ name, dtype, shape }) => ({ name, dtype, shape }));
}

/** The elements of all arrays, one after the other without gaps. */
export function bytesOf(arrays: readonly NamedArray[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(arrays.reduce((sum, { values }) => sum + values.byteLength, 0));
  let at = 0;
  for (const { values } of arrays) {
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
    at += values.byteLength;
  }
  return bytes;
}

/**
 * Reads what `specsOf` and `bytesOf` wrote.
 * @param specs parsed JSON, which may contain anything
 * @throws RuntimeError unless the specs are valid and describe all bytes
 */
export function arraysFrom(specs: unknown, bytes: Uint8Array): NamedArray[] {
  if (!Array.isArray(specs)) throw invalid(`the list of its arrays is ${quote(specs)}`);
  let at = 0;
  const arrays = specs.map((spec: unknown): NamedArray => {
    const { name, dtype, shape } = requireSpec(spec);
    const size = shape.reduce((product, length) => product * length, arrayTypes[dtype].BYTES_PER_ELEMENT);
    if (size > bytes.length - at) throw invalid(`it ends within the array "${name}"`);
    // A copy, because the elements may not begin at a multiple of their size. `slice` of a Buffer does not copy.
    const { buffer } = new Uint8Array(bytes.subarray(at, at + size));
    at += size;
    return { name, dtype, shape, values: new arrayTypes[dtype](buffer) };
  });
  if (at !== bytes.length) throw invalid(`it has ${bytes.length - at} bytes more than its arrays`);
  return arrays;
}

function requireSpec(spec: unknown): ArraySpec {
  const { name, dtype, shape } = Object(spec) as Partial<Record<keyof ArraySpec, unknown>>;
  const isShape = Array.isArray(shape) && shape.every((length) => Number.isSafeInteger(length) && length >= 0);
  if (typeof name === 'string' && typeof dtype === 'string' && isCarried(dtype) && isShape)
    return { name, dtype, shape };
  throw invalid(`the description of one of its arrays is ${JSON.stringify(spec)?.slice(0, 200)}`);
}

function invalid(message: string): RuntimeError {
  return new RuntimeError('ERR_COLL_CHECKPOINT', message);
}
