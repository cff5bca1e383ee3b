import { OutOfRangeError, ValueError } from '@coll/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchSizesForWorker, evenSizes, sizesUntilExhausted, stepsOfBatch } from './sub-batches.js';

const totals = fc.integer({ min: 0, max: 5000 });
const counts = fc.integer({ min: 1, max: 40 });
const places = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }))
  .map(([numWorkers, replicasPerWorker]) =>
    Array.from({ length: numWorkers }, (_, workerIndex) => ({ numWorkers, workerIndex, replicasPerWorker })),
  );

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

describe('even sizes', () => {
  it('differ by at most one, with the larger sizes first, for any total and any number of parts', () => {
    fc.assert(
      fc.property(totals, counts, (total, parts) => {
        const sizes = evenSizes(total, parts);
        const floor = Math.floor(total / parts);
        expect(sizes.slice(0, total % parts)).toEqual(new Array(total % parts).fill(floor + 1));
        expect(sizes.slice(total % parts)).toEqual(new Array(parts - (total % parts)).fill(floor));
        expect(sum(sizes)).toBe(total);
      }),
    );
  });
});

describe('sizes until exhausted', () => {
  it.each([
    [3, 2, [2, 1]],
    [4, 3, [2, 2, 0]],
    [4, 5, [1, 1, 1, 1, 0]],
    [5, 4, [2, 2, 1, 0]],
    [0, 2, [0, 0]],
    [9, 1, [9]],
  ])('split %i into %i parts', (total, parts, sizes) => {
    expect(sizesUntilExhausted(total, parts)).toEqual(sizes);
  });

  it('are equal up to a smaller rest, which is followed by zeros', () => {
    fc.assert(
      fc.property(totals, counts, (total, parts) => {
        const sizes = sizesUntilExhausted(total, parts);
        const full = sizes.findIndex((size) => size < Math.ceil(total / parts));
        expect(sum(sizes)).toBe(total);
        expect(sizes).toHaveLength(parts);
        if (full >= 0) expect(sizes.slice(full + 1)).toEqual(new Array(parts - full - 1).fill(0));
      }),
    );
  });
});

describe('the batch sizes for a worker', () => {
  it('are the same for all workers, but rotated by the replicas of one worker each', () => {
    const sizes = [0, 1, 2].map((workerIndex) =>
      batchSizesForWorker({ globalBatchSize: 10, numWorkers: 3, replicasPerWorker: 2, workerIndex }),
    );
    expect(sizes).toEqual([
      [2, 2, 2, 2, 1, 1],
      [2, 2, 1, 1, 2, 2],
      [1, 1, 2, 2, 2, 2],
    ]);
  });

  it('sum to the global batch size across all workers, in every step', () => {
    fc.assert(
      fc.property(totals, places, (globalBatchSize, workers) => {
        const sizes = workers.map((place) => batchSizesForWorker({ globalBatchSize, ...place }));
        for (const { workerIndex: step, replicasPerWorker } of workers) {
          const [from, to] = [step * replicasPerWorker, (step + 1) * replicasPerWorker];
          expect(sum(sizes.flatMap((list) => list.slice(from, to)))).toBe(globalBatchSize);
        }
      }),
    );
  });

  it.each([
    [{ globalBatchSize: 1.5 }, ValueError],
    [{ globalBatchSize: -1 }, ValueError],
    [{ numWorkers: 0 }, ValueError],
    [{ numWorkers: 2 ** 17 }, ValueError],
    [{ numWorkers: 2 ** 16, replicasPerWorker: 2 }, ValueError],
    [{ globalBatchSize: '4' }, ValueError],
    [{ workerIndex: 0.5 }, OutOfRangeError],
    [{ replicasPerWorker: 0 }, ValueError],
    [{ workerIndex: 2 }, OutOfRangeError],
    [{ workerIndex: -1 }, OutOfRangeError],
  ])('are refused for %o', (wrong, kind) => {
    const right = { globalBatchSize: 4, numWorkers: 2, workerIndex: 0, replicasPerWorker: 1 };
    const refused = () => batchSizesForWorker({ ...right, ...wrong } as never);
    expect(refused).toThrow(kind);
    expect(refused).toThrow(
      expect.objectContaining({ code: kind === ValueError ? 'ERR_COLL_VALUE' : 'ERR_COLL_RANGE' }),
    );
    expect(refused).toThrow(Object.keys(wrong)[0]);
  });
});

describe('the steps of a batch', () => {
  const totals = fc.integer({ min: 0, max: 200 });
  const items = (steps: readonly (readonly { begin: number; end: number }[])[]) =>
    steps.flat().flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, index) => begin + index));

  it('are shared by all workers, each item once and in order, if all read the data', () => {
    fc.assert(
      fc.property(totals, places, (total, workers) => {
        const sizes = evenSizes(total, workers.length * (workers[0]?.replicasPerWorker ?? 0));
        const steps = workers.map((place) => stepsOfBatch(sizes, place, 'DATA'));
        expect(steps.map((each) => each.length)).toEqual(workers.map(() => 1));
        expect(items(steps.flat())).toEqual(Array.from({ length: total }, (_, index) => index));
      }),
      { numRuns: 40 },
    );
  });

  it('belong to one worker, with all items in order, if each worker reads its own files', () => {
    fc.assert(
      fc.property(totals, places, (total, workers) => {
        for (const place of workers) {
          const { numWorkers, replicasPerWorker } = place;
          const steps = stepsOfBatch(evenSizes(total, numWorkers * replicasPerWorker), place, 'FILE');
          for (const step of steps) expect(step).toHaveLength(replicasPerWorker);
          if (total >= numWorkers * replicasPerWorker) expect(steps).toHaveLength(numWorkers);
          expect(items(steps)).toEqual(Array.from({ length: total }, (_, index) => index));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('do not end with an empty step if each worker reads its own files', () => {
    const place = { numWorkers: 3, workerIndex: 0, replicasPerWorker: 2 };
    expect(stepsOfBatch([1, 1, 1, 0, 0, 0], place, 'FILE')).toHaveLength(2);
    expect(stepsOfBatch([0, 0, 0, 0, 0, 0], place, 'OFF')).toHaveLength(1);
  });
});

describe('the number of replicas of all workers', () => {
  const of = (numWorkers: number, replicasPerWorker: number) =>
    batchSizesForWorker({ globalBatchSize: 1, numWorkers, workerIndex: 0, replicasPerWorker });

  it('must be at most 65536', () => {
    expect(of(65_536, 1)).toHaveLength(65_536);
    expect(of(2, 32_768)).toHaveLength(65_536);
    expect(() => of(65_537, 1)).toThrow('numWorkers times replicasPerWorker must be at most 65536, got 65537');
    expect(() => of(40_000, 2)).toThrow('numWorkers times replicasPerWorker must be at most 65536, got 80000');
  });
});
