import { expect, it, vi } from 'vitest';
import type { DatasetReader } from './dataset-reader.js';
import { DealtSteps } from './dealt-steps.js';

/** A test double of a TensorFlow.js tensor. */
const foreign = (dispose: () => void) => ({
  ...{ dataId: {}, shape: [1], dtype: 'float32', data: async () => {} },
  slice: () => {},
  dispose,
});

it.each([
  [[true, true], 1],
  [[true, false], 0],
  [[false, false], 0],
])('a discarded step is disposed only if all its readers give their elements away, %j: %i times', (given, count) => {
  const readers = given.map((givesAway) => ({ givesAway }) as DatasetReader);
  const dispose = vi.fn();
  new DealtSteps(readers, [undefined, undefined]).discard([foreign(dispose)] as never);
  expect(dispose).toHaveBeenCalledTimes(count);
});
