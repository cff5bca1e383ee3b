import { isTensor, type Tensor } from '@coll/core';
import { quote } from '@coll/core/internal';
import { hashOf, hashOfBits } from '@coll/strategy/internal';
import { defaultDevice } from '@jax-js/jax';
import {
  arrayOf,
  type Elements,
  elementsIn,
  type Form,
  invalid,
  isLikeArray,
  type JaxArray,
  requireArray,
  zerosOf,
} from './arrays.js';
import { leavesOf } from './trees.js';

/** One input of a model, with one row per sample, in the memory of JavaScript. */
export interface Table extends Form {
  readonly path: string;
  readonly elements: Elements;
  readonly device: JaxArray['device'];
}

/** The dtypes of typed arrays that arrays of jax-js can hold. */
const dtypes: Readonly<Record<string, string>> = {
  Float16Array: 'float16',
  Float32Array: 'float32',
  Float64Array: 'float64',
  Int32Array: 'int32',
  Uint32Array: 'uint32',
};

/**
 * The tables of a tree of arrays of jax-js, which are consumed, typed arrays, and tensors of coll.
 * @throws ValueError for other leaves, and unless all have the same number of rows, one at least
 */
export async function tablesOf(data: unknown, operation: string): Promise<Table[]> {
  const leaves = leavesOf(data, 'data', operation);
  const forms = leaves.map(({ path, value }) => ({ path, ...formOf(value, path, operation) }));
  requireRows(forms, operation);
  return await Promise.all(
    forms.map(async (form, index) => {
      const value = leaves[index]?.value;
      const device = isLikeArray(value) ? (value as JaxArray).device : defaultDevice();
      return { ...form, elements: await elementsOf(value, form.dtype), device };
    }),
  );
}

/** A 53-bit hash of all that is in these tables. */
export function hashOfTables(tables: readonly Table[]): number {
  return hashOf(
    JSON.stringify(tables.map(({ path, dtype, shape, elements }) => [path, dtype, shape, hashOfBits(elements)])),
  );
}

/** An array of these rows of a table. */
export function takeRows({ elements, dtype, shape, device }: Table, rows: ArrayLike<number>): JaxArray {
  const form = { dtype, shape: [rows.length, ...shape.slice(1)] };
  const taken = zerosOf(form) as Float32Array;
  const rowSize = elements.length / (shape[0] as number);
  for (let index = 0; index < rows.length; index++) {
    const begin = (rows[index] as number) * rowSize;
    if (rowSize === 1) taken[index] = elements[begin] as number;
    else taken.set((elements as Float32Array).subarray(begin, begin + rowSize), index * rowSize);
  }
  return arrayOf(taken, form, device);
}

function formOf(value: unknown, path: string, operation: string): Form {
  if (isLikeArray(value)) {
    requireArray(value, path, operation);
    return { dtype: value.dtype, shape: value.shape };
  }
  if (isTensor(value)) {
    const { dtype, shape } = value;
    if (dtype === 'bool' || Object.values(dtypes).includes(dtype)) return { dtype, shape };
    throw invalid(operation, `${path} is a tensor of ${dtype}, which jax-js does not have; ${advice}`);
  }
  if (!ArrayBuffer.isView(value)) {
    const message = `${path} must be an array of jax-js, a typed array, or tensor(values, { shape }) of @coll/core`;
    throw invalid(operation, `${message}, got ${quote(value)}`);
  }
  const name = Object.prototype.toString.call(value).slice(8, -1);
  const dtype = dtypes[name];
  if (dtype) return { dtype, shape: [(value as Float32Array).length] };
  throw invalid(operation, `${path} is a ${name}, whose elements jax-js does not have; ${advice}`);
}

const advice = 'convert it, for example by Int32Array.from(values)';

async function elementsOf(value: unknown, dtype: string): Promise<Elements> {
  if (isLikeArray(value)) return await (value as JaxArray).data();
  if (!isTensor(value)) return value as Elements;
  const { data } = value as Tensor;
  if (dtype === 'bool') return Int32Array.from(data as Uint8Array);
  if (dtype !== 'float16') return data as Elements;
  return elementsIn(data.buffer as ArrayBuffer, dtype, data.byteOffset, data.length);
}

/** @throws ValueError unless all have the same number of rows, one at least */
function requireRows(forms: readonly (Form & { readonly path: string })[], operation: string): void {
  const scalar = forms.find(({ shape }) => shape.length === 0);
  if (scalar) throw invalid(operation, `${scalar.path} must have rows, got a scalar`);
  const [first] = forms;
  if (!first || first.shape[0] === 0) throw invalid(operation, 'data must have at least one row, got none');
  if (forms.every(({ shape }) => shape[0] === first.shape[0])) return;
  const texts = forms.map(({ path, shape }) => `${shape[0]} in ${path}`).join(', ');
  throw invalid(
    operation,
    `all arrays must have the same number of rows, got ${texts}; tensor(values, { shape }) of @coll/core gives a typed array rows of several elements`,
  );
}
