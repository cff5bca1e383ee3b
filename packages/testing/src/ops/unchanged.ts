import assert from 'node:assert/strict';
import { DistributedValues, IndexedSlices, isTensor, type TypedArray } from '@coll/core';

/** Records the contents of values, in order to check later that they have not changed. */
export class Unchanged {
  readonly #before: readonly (readonly [data: TypedArray, copy: TypedArray])[];

  constructor(...values: readonly unknown[]) {
    this.#before = values.flatMap(arraysOf).map((data) => [data, data.slice()] as const);
  }

  /** Fails if an element of the recorded values has changed. */
  assert(title: string): void {
    for (const [data, copy] of this.#before) {
      assert.ok(sameBytes(data, copy), `${title}: an input or a destination was changed`);
    }
  }
}

function arraysOf(value: unknown): TypedArray[] {
  if (value instanceof DistributedValues) return value.values.flatMap(arraysOf);
  if (value instanceof IndexedSlices) return [value.values.data, value.indices.data];
  if (isTensor(value)) return [value.data];
  return Array.isArray(value) ? value.flatMap(arraysOf) : [];
}

function sameBytes(a: TypedArray, b: TypedArray): boolean {
  const bytes = ({ buffer, byteOffset, byteLength }: TypedArray) => Buffer.from(buffer, byteOffset, byteLength);
  return bytes(a).equals(bytes(b));
}
