import { AssertionError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { requireFunction, requireList } from '../support/requirements.js';
import { tensorSymbol } from './tensor.js';

/**
 * Nested lists and plain objects with leaves of type `Leaf`. Every other value is a leaf, including
 * tensors.
 */
export type Structure<Leaf> = Leaf | readonly Structure<Leaf>[] | { readonly [key: string]: Structure<Leaf> };

// Limits the depth, because a list or an object may contain itself. Real models are not nested as deeply.
const deepest = 100;

const tensorFields: readonly string[] = ['data', 'dtype', 'shape', 'device'];

/**
 * The leaves from left to right. Leaves of an object are in the order of its sorted keys, so that
 * insertion order does not matter.
 * @throws ValueError for a structure that contains itself
 */
export function flatten<Leaf>(structure: Structure<Leaf>): Leaf[] {
  if (ArrayBuffer.isView(structure)) return [structure as Leaf];
  const leaves: Leaf[] = [];
  mapStructure<Leaf, void>(structure, (leaf) => {
    leaves.push(leaf);
  });
  return leaves;
}

/**
 * The same lists and objects, with each leaf replaced by `map(leaf)`.
 * @throws ValueError for a structure that contains itself
 */
export function mapStructure<Leaf, Result>(structure: Structure<Leaf>, map: (leaf: Leaf) => Result): Structure<Result> {
  requireFunction(map, 'map');
  return mapped(structure, map, 0);
}

function mapped<Leaf, Result>(
  structure: Structure<Leaf>,
  map: (leaf: Leaf) => Result,
  depth: number,
): Structure<Result> {
  if (Array.isArray(structure)) {
    requireEnd(depth);
    return structure.map((item) => mapped(item, map, depth + 1));
  }
  if (!isMapping(structure)) return map(structure as Leaf);
  requireEnd(depth);
  const keys = Object.keys(structure);
  const parts = new Map(keys.toSorted().map((key) => [key, mapped(structure[key] as Structure<Leaf>, map, depth + 1)]));
  return Object.fromEntries(keys.map((key) => [key, parts.get(key) as Structure<Result>]));
}

/**
 * The structure with its leaves replaced by `leaves`, in the order of `flatten`. Missing leaves
 * become undefined.
 * @throws ValueError unless `leaves` is a list, or for a structure that contains itself
 */
export function packLike<Leaf, Result>(structure: Structure<Leaf>, leaves: readonly Result[]): Structure<Result> {
  if (ArrayBuffer.isView(structure) && Array.isArray(leaves)) return leaves[0] as Result;
  requireList(leaves, 'leaves');
  let next = 0;
  return mapStructure(structure, () => leaves[next++] as Result);
}

/**
 * Walks structures of the same form together and replaces the leaves at each position by
 * `join(leaves)`.
 * @throws AssertionError if lengths of lists or keys of objects differ; ValueError for a structure
 * that contains itself
 */
export function zipStructures<Leaf, Result>(
  structures: readonly Structure<Leaf>[],
  join: (leaves: readonly Leaf[]) => Result,
): Structure<Result> {
  requireList(structures, 'structures');
  requireFunction(join, 'join');
  return zipped(structures, join, 0);
}

function zipped<Leaf, Result>(
  structures: readonly Structure<Leaf>[],
  join: (leaves: readonly Leaf[]) => Result,
  depth: number,
): Structure<Result> {
  const [first] = structures;
  if (Array.isArray(first)) {
    requireEnd(depth);
    requireAlike(structures, (other) => Array.isArray(other) && other.length === first.length);
    const itemsAt = (index: number) =>
      structures.map((list) => (list as readonly Structure<Leaf>[])[index] as Structure<Leaf>);
    return first.map((_, index) => zipped(itemsAt(index), join, depth + 1));
  }
  if (isMapping(first)) {
    requireEnd(depth);
    const keys = Object.keys(first);
    requireAlike(structures, (other) => isMapping(other) && sameKeys(keys, Object.keys(other)));
    const itemsAt = (key: string) =>
      structures.map((mapping) => (mapping as Record<string, Structure<Leaf>>)[key] as Structure<Leaf>);
    return Object.fromEntries(keys.map((key) => [key, zipped(itemsAt(key), join, depth + 1)]));
  }
  return join(structures as readonly Leaf[]);
}

/**
 * The lists and keys of a structure without its leaves, such as `[2]` or `{a, b: [1]}`; empty for a
 * leaf. Equal for structures of the same form.
 */
export function formOf(structure: unknown): string {
  return ArrayBuffer.isView(structure) ? '' : formAt(structure, 0);
}

/** A form in words, for errors: `a list of 2`, or `the structure {a, b: [1]}`. */
export function formWords(form: string): string {
  const length = listLength(form);
  return form === '' || length !== undefined ? countWords(length ?? 0) : `the structure ${form}`;
}

/**
 * How many values a structure of this form has, as ranks announce it: 0 for a single value, negative
 * unless the structure is a flat list. `leaves` is the number of leaves.
 */
export function valuesIn(form: string, leaves: number): number {
  return form === '' ? 0 : (listLength(form) ?? -leaves);
}

/** The length of a flat list of this form; undefined for any other form. */
function listLength(form: string): number | undefined {
  const [, length] = /^\[(\d+)\]$/.exec(form) ?? [];
  return length === undefined ? undefined : Number(length);
}

/** A result of `valuesIn` in words, for errors. */
export function countWords(values: number): string {
  if (values === 0) return 'a single value';
  return values > 0 ? `a list of ${values}` : `a structure of ${-values} values`;
}

function formAt(structure: unknown, depth: number): string {
  if (Array.isArray(structure)) {
    requireEnd(depth);
    const forms = structure.map((item) => formAt(item, depth + 1));
    return forms.every((form) => form === '') ? `[${forms.length}]` : `[${forms.join(', ')}]`;
  }
  if (!isMapping(structure)) return '';
  requireEnd(depth);
  const entries = Object.keys(structure).toSorted();
  const texts = entries.map((key) => [key, formAt(structure[key], depth + 1)].filter((part) => part !== '').join(': '));
  return `{${texts.join(', ')}}`;
}

/**
 * Whether a value is an inner node of a structure: a plain object that is not a tensor, cannot be
 * converted to a tensor, and is not an incomplete tensor (`{ data, device }`).
 */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  // Looking for names in an array takes long.
  if (ArrayBuffer.isView(value) || tensorSymbol in value) return false;
  if ('data' in value && isMeantAsTensor(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  // Plain objects of other realms have a different Object.prototype, whose own prototype is null.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

// Settings may have a key named `dtype`, but only a tensor has all three fields. An object with
// only fields of a tensor is an incomplete tensor.
function isMeantAsTensor(value: { readonly data: unknown }): boolean {
  if ('dtype' in value && 'shape' in value) return true;
  const keys = Object.keys(value);
  return ArrayBuffer.isView(value.data) && keys.length > 1 && keys.every((key) => tensorFields.includes(key));
}

function requireEnd(depth: number): void {
  if (depth < deepest) return;
  const message = `a structure must be at most ${deepest} levels deep; does a list or an object contain itself?`;
  throw new ValueError('ERR_COLL_VALUE', message);
}

function requireAlike(structures: readonly unknown[], isAlike: (structure: unknown) => boolean): void {
  const odd = structures.findIndex((structure) => !isAlike(structure));
  if (odd < 0) return;
  const [first, other] = [structures[0], structures[odd]];
  const message = `replicas returned different structures: replica 0 ${textOf(first)}, replica ${odd} ${textOf(other)}`;
  // A list is a structure of its items, but a typed array is one value.
  const areLists = Array.isArray(first) && Array.isArray(other);
  const advice = areLists ? '; lists must have the same length: return typed arrays, whose lengths may differ' : '';
  throw new AssertionError('ERR_COLL_VALUE', `${message}${advice}`);
}

function textOf(structure: unknown): string {
  if (Array.isArray(structure)) return `a list of ${structure.length}`;
  return isMapping(structure) ? `an object with the keys ${Object.keys(structure).join(', ')}` : quote(structure);
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key) => b.includes(key));
}
