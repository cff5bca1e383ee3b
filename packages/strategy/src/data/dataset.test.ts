import { expect, it } from 'vitest';
import { datasetOfWorker, openDataset } from './dataset.js';

const place = { numWorkers: 2, workerIndex: 1, replicasPerWorker: 1 };
const ofFiles = { files: [1, 2, 3], read: (files: readonly number[]) => files };

it("datasetOfWorker returns a worker's files if sharded by file, and other datasets unchanged", () => {
  const list = [1, 2];
  expect(datasetOfWorker(list, 'FILE', place)).toBe(list);
  expect(datasetOfWorker(ofFiles, 'DATA', place)).toBe(ofFiles);
  expect(datasetOfWorker(ofFiles, 'OFF', place)).toBe(ofFiles);
  const own = datasetOfWorker(ofFiles, 'FILE', place) as () => unknown;
  expect(own()).toEqual([2]);
});

it.each([
  ['a list', [1], false],
  ['an async iterable', { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true }) }) }, false],
  ['a lazy dataset', { iterator: async () => ({ next: async () => ({ done: true }) }) }, true],
  ['a dataset of files', ofFiles, false],
])(
  'openDataset returns whether %s gives its elements away, so that they may be disposed',
  async (_, dataset, givesAway) => {
    expect(await openDataset(dataset)).toMatchObject({ givesAway });
  },
);
