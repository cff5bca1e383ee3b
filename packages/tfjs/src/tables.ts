import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { hashOf, hashOfBits } from '@coll/strategy/internal';
import { textOfRows } from './rows-as-text.js';
import { elementsNow } from './tensor-memory.js';
import { elementsOf, isCarried, type TensorFlow, type TfTensor } from './tensorflow.js';

type Typed = Exclude<ArrayBufferView, DataView> & { readonly length: number };

/** What a table was made of, and what its rows become again. */
export type Form =
  | { readonly kind: 'tensor'; readonly dtype: string; readonly shape: readonly number[] }
  | { readonly kind: 'array'; readonly type: string; readonly length: number }
  | { readonly kind: 'list'; readonly length: number };

/** All elements of a table, row by row. */
export type Elements = Typed | readonly unknown[];

/** One input of a model, such as a tensor, with one row per sample. */
export interface Table {
  readonly form: Form;
  readonly elements: Elements;
}

/** How the tables of some data are nested. A number is the position of a table. */
export type Nesting = number | readonly Nesting[] | { readonly [name: string]: Nesting };

/** Data as tables that have the same number of rows. */
export interface Tables {
  readonly nesting: Nesting;
  readonly tables: readonly Table[];
  readonly rows: number;
}

/** A tensor, typed array or list. */
type Source = TfTensor | Typed | readonly unknown[];

interface Found {
  readonly name: string;
  readonly source: Source;
}

/**
 * The tables of tensors, typed arrays, lists of rows, and lists of tensors or plain objects of them.
 * @throws ValueError for other data, and if the numbers of rows differ; NotImplementedError on WebGPU
 */
export function tablesOf(tf: TensorFlow, data: unknown, operation: string): Tables {
  const found: Found[] = [];
  const nesting = nestingOf(data, 'data', found, operation);
  const forms = formsOf(found, operation);
  const tables = found.map(({ source }, index) => {
    return { form: forms[index] as Form, elements: isTensor(source) ? (elementsNow(tf, source) as Elements) : source };
  });
  return { nesting, tables, rows: rowsOfForm(forms[0] as Form) };
}

/** Like `tablesOf`, but takes only tensors, and does not block the thread. */
export async function tablesOfBatch(batch: unknown, operation: string): Promise<Tables> {
  const found: Found[] = [];
  const nesting = nestingOf(batch, 'batch', found, operation);
  const odd = found.find(({ source }) => !isTensor(source));
  if (odd) throw invalid(operation, `${odd.name} must be a tensor, got ${quote(odd.source)}; call batch(size) first`);
  const forms = formsOf(found, operation);
  const elements = await Promise.all(found.map(({ source }) => (source as TfTensor).data()));
  const tables = forms.map((form, index) => ({ form, elements: elements[index] as Elements }));
  return { nesting, tables, rows: rowsOfForm(forms[0] as Form) };
}

/** The data made of these tables, of which `make` makes the inputs. */
export function nested(nesting: Nesting, make: (table: number) => unknown): unknown {
  if (typeof nesting === 'number') return make(nesting);
  if (Array.isArray(nesting)) return nesting.map((each) => nested(each, make));
  return Object.fromEntries(Object.entries(nesting).map(([name, each]) => [name, nested(each as Nesting, make)]));
}

/** A 53-bit hash of all that is in these tables. */
export function hashOfTables({ nesting, tables }: Tables): number {
  const hashes = tables.map(({ elements }) =>
    isTyped(elements) ? hashOfBits(elements) : hashOf(textOfRows(elements)),
  );
  return hashOf(JSON.stringify([nesting, tables.map(({ form }) => form), hashes]));
}

/** A tensor, typed array or list of these rows of a table. */
export function takeRows(tf: TensorFlow, { form, elements }: Table, rows: Int32Array): object {
  const rowSize = elements.length / rowsOfForm(form);
  const taken = isTyped(elements)
    ? takenTyped(elements as Float32Array, rows, rowSize)
    : Array.from(rows, (row) => elements.slice(row * rowSize, (row + 1) * rowSize)).flat();
  if (form.kind !== 'tensor') return taken;
  const { dtype, shape } = form;
  const values = isCarried(dtype) ? elementsOf(taken as Float32Array, dtype) : taken;
  return tf.tensor(values as Float32Array, [rows.length, ...shape.slice(1)], dtype as 'float32');
}

/** The number of rows of a table of this form. */
function rowsOfForm(form: Form): number {
  return form.kind === 'tensor' ? (form.shape[0] as number) : form.length;
}

export function isTyped(value: unknown): value is Typed {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

export function isTensor(value: unknown): value is TfTensor {
  const { dataSync, dtype, shape } = Object(value) as Partial<TfTensor>;
  return typeof dataSync === 'function' && typeof dtype === 'string' && Array.isArray(shape);
}

function takenTyped(elements: Float32Array, rows: Int32Array, rowSize: number): Float32Array {
  const taken = new (elements.constructor as Float32ArrayConstructor)(rows.length * rowSize);
  for (let index = 0; index < rows.length; index++) {
    const begin = (rows[index] as number) * rowSize;
    if (rowSize === 1) taken[index] = elements[begin] as number;
    else taken.set(elements.subarray(begin, begin + rowSize), index * rowSize);
  }
  return taken;
}

/** @throws ValueError unless all have the same number of rows, one at least */
function formsOf(found: readonly Found[], operation: string): Form[] {
  const forms = found.map(formOf);
  const [first, other] = [forms[0], forms.find((form) => rowsOfForm(form) !== rowsOfForm(forms[0] as Form))];
  if (first && rowsOfForm(first) > 0 && !other) return forms;
  if (!first || !other) throw invalid(operation, 'data must have at least one row, got none');
  const texts = found.map(({ name }, index) => `${rowsOfForm(forms[index] as Form)} in ${name}`).join(', ');
  throw invalid(
    operation,
    `all inputs must have the same number of rows, got ${texts}; an element of a typed array is a row`,
  );
}

function formOf({ source }: Found): Form {
  if (isTensor(source)) return { kind: 'tensor', dtype: source.dtype, shape: [...source.shape] };
  const { length } = source;
  return isTyped(source) ? { kind: 'array', type: source.constructor.name, length } : { kind: 'list', length };
}

function nestingOf(value: unknown, name: string, found: Found[], operation: string): Nesting {
  if (isTensor(value)) requireRows(value, name, operation);
  const isSource = isTensor(value) || isTyped(value) || (Array.isArray(value) && !isListOfTensors(value));
  if (isSource) return found.push({ name, source: value as Source }) - 1;
  if (Array.isArray(value)) return value.map((each, index) => nestingOf(each, `${name}[${index}]`, found, operation));
  if (!isPlainObject(value))
    throw invalid(operation, `${name} must be a tensor, an array, or an object of them, got ${quote(value)}`);
  // The order of names may differ between replicas.
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((key) => [key, nestingOf(value[key], `${name}.${key}`, found, operation)]));
}

function isListOfTensors(list: readonly unknown[]): boolean {
  return list.length > 0 && list.every(isTensor);
}

function requireRows({ dtype, shape }: TfTensor, name: string, operation: string): void {
  if (shape.length === 0) throw invalid(operation, `${name} must have rows, got a scalar`);
  if (isCarried(dtype) || dtype === 'string') return;
  throw invalid(operation, `the dtype of ${name} must be float32, int32, bool or string, got ${dtype}`);
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function invalid(operation: string, message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`, { operation });
}
