import assert from 'node:assert/strict';
import { type DType, IndexedSlices, PerReplica, tensor } from '@coll/core';
import { assertPlaced, assertSlices, like } from './assert-value.js';

export interface Rows {
  readonly indices: readonly number[];
  /** The elements of the rows, two per row. */
  readonly values: readonly number[];
  readonly dtype?: DType;
  readonly indexDType?: DType;
}

/** Makes slices of a dense tensor of shape [4, 2]. */
export function slicesOn(
  device: string,
  { indices, values, dtype = 'float32', indexDType = 'int32' }: Rows,
): IndexedSlices {
  return new IndexedSlices(
    tensor(values, { dtype, shape: [indices.length, 2], device }),
    tensor(indices, { dtype: indexDType, device }),
    [4, 2],
  );
}

export function sparseValue(devices: readonly string[], rows: readonly Rows[]): PerReplica<IndexedSlices> {
  return new PerReplica(devices.map((device, replica) => slicesOn(device, rows[replica] as Rows)));
}

/** The rows of three replicas, each with a different number of rows; one replica has none. */
export const usualRows: readonly Rows[] = [
  { indices: [3, 0, 3], values: [1, 2, 3, 4, 5, 6] },
  { indices: [], values: [] },
  { indices: [0], values: [7, 9] },
];
export const usualSum: Rows = { indices: [3, 0, 3, 0], values: [1, 2, 3, 4, 5, 6, 7, 9] };

/** Fails unless a result has one component per device, each with these rows. */
export function assertRows(title: string, result: unknown, devices: readonly string[], rows: Rows): void {
  const expected = slicesOn('', rows);
  for (const component of assertPlaced(title, result, devices)) {
    assertSlices(`${title} on ${component.device}`, component, like(expected.values), like(expected.indices));
    assert.deepEqual((component as IndexedSlices).denseShape, [4, 2], `${title}: dense shape`);
  }
}
