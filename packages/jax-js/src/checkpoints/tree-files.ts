import {
  type Disk,
  type FileEntries,
  type Files,
  joined,
  manifestName,
  NotWhole,
  readEntries,
  readFields,
  withManifest,
} from '@coll/strategy/internal';
import { bytesOf, type Elements, elementsIn, type Form, sizeOf } from '../arrays.js';
import type { NamedForm } from '../same-trees.js';
import type { NamedValue } from './tree-parts.js';

const arraysName = 'arrays.bin';
const format = { format: 'coll checkpoint of jax-js', version: 1, reader: '@coll/jax-js' } as const;

/** What a checkpoint says about its tree. */
export interface TreeDescription {
  readonly arrays: readonly NamedForm[];
  readonly values: readonly NamedValue[];
}

/** A tree in a checkpoint. */
export interface TreeCheckpoint extends TreeDescription {
  /** The elements of all arrays, one after the other. */
  readonly bytes: Uint8Array;
}

/** The files of a checkpoint. @param elements those of the arrays, in their order */
export function treeFiles(
  disk: Disk,
  { arrays, values }: TreeDescription,
  elements: readonly Elements[],
): Promise<Files> {
  const forms = arrays.map(({ path: name, dtype, shape }) => ({ path: name, dtype, shape }));
  const parts = elements.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
  return withManifest(disk, new Map([[arraysName, joined(parts)]]), format, { arrays: forms, values });
}

/**
 * Reads a checkpoint and checks all its files.
 * @throws NotWhole if a file is missing or damaged; RuntimeError if a newer release wrote it
 */
export async function readTree(disk: Disk, folder: string): Promise<TreeCheckpoint> {
  const { arrays, values, files } = await readFields(disk, folder, format);
  const isTree = Array.isArray(arrays) && arrays.every(isForm) && Array.isArray(values) && values.every(isNamed);
  const names = Object.keys(Object(files));
  if (!isTree || names.length !== 1 || names[0] !== arraysName)
    throw new NotWhole(`${disk.path.join(folder, manifestName)} does not describe a tree of arrays`);
  const read = await readEntries(disk, folder, files as FileEntries);
  const bytes = read.get(arraysName) as Uint8Array;
  const expected = arrays.reduce((sum: number, form: Form) => sum + bytesIn(form), 0);
  if (bytes.length !== expected)
    throw new NotWhole(
      `${disk.path.join(folder, arraysName)} has ${bytes.length} bytes, but its arrays have ${expected}`,
    );
  return { arrays, values, bytes };
}

/** The elements of arrays of these forms. */
export function elementsFrom(bytes: Uint8Array, forms: readonly Form[]): Elements[] {
  let at = 0;
  return forms.map((form) => {
    const begin = at;
    at += bytesIn(form);
    // A copy, because the elements may not begin at a multiple of their size. `slice` of a Buffer does not copy.
    return elementsIn(new Uint8Array(bytes.subarray(begin, at)).buffer, form.dtype);
  });
}

function bytesIn({ dtype, shape }: Form): number {
  return sizeOf(shape) * bytesOf(dtype);
}

const dtypes = ['float16', 'float32', 'float64', 'int32', 'uint32', 'bool'];

function isForm(value: unknown): boolean {
  const { dtype, shape } = Object(value) as Partial<Record<keyof Form, unknown>>;
  const isShape = Array.isArray(shape) && shape.every((length) => Number.isSafeInteger(length) && length >= 0);
  return isNamed(value) && dtypes.includes(dtype as string) && isShape;
}

function isNamed(value: unknown): boolean {
  return typeof (Object(value) as { readonly path?: unknown }).path === 'string';
}
