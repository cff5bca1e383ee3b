import { IndexedSlices, toNumbers } from '@coll/core';
import { expect } from 'vitest';
import {
  type DistributedVariable,
  type MirroredStrategy,
  MirroredVariable,
  SyncOnReadVariable,
  type VariableOptions,
  type VariableValue,
  variable,
} from '../src/index.js';

/** A variable "w" of float32 that is synchronized on write. */
export function mirrored(
  strategy: MirroredStrategy,
  initial: VariableValue,
  options: VariableOptions = {},
): MirroredVariable {
  const made = strategy.scope(() => variable(initial, { name: 'w', dtype: 'float32', ...options }));
  expect(made).toBeInstanceOf(MirroredVariable);
  return made as MirroredVariable;
}

/** A variable "w" of float32 that is synchronized on read. */
export function onRead(
  strategy: MirroredStrategy,
  initial: VariableValue,
  options: VariableOptions = {},
): SyncOnReadVariable {
  const all = { name: 'w', dtype: 'float32', synchronization: 'on_read', ...options } as const;
  const made = strategy.scope(() => variable(initial, all));
  expect(made).toBeInstanceOf(SyncOnReadVariable);
  return made as SyncOnReadVariable;
}

/** What each component holds. */
export function held(made: DistributedVariable): number[][] {
  return made.values.map((component) => toNumbers(component.read()));
}

/** The same numbers for every replica. */
export function everywhere(replicas: number, numbers: readonly number[]): (readonly number[])[] {
  return Array.from({ length: replicas }, () => numbers);
}

/** Rows of one number. */
export function rows(values: readonly number[], indices: readonly number[]): IndexedSlices {
  return new IndexedSlices(Float32Array.from(values), Int32Array.from(indices));
}
