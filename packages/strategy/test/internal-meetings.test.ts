import { tensor } from '@coll/core';
import { MirroredStrategy, type MultiWorkerMirroredStrategy } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import { meetings } from './fixtures/meets.js';
import { closeGroups, workersHere } from './workers-here.js';

afterEach(closeGroups);

describe('a call that the library makes for itself never matches a call of a program', () => {
  const module = new URL('./fixtures/meets.ts', import.meta.url);

  it.each(Object.keys(meetings))('between replicas in threads: %s', async (what) => {
    await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const run = strategy.run<typeof import('./fixtures/meets.js'), 'meets'>(module, {
      exportName: 'meets',
      args: [what],
    });
    const code = what.includes('end of a run') ? 'ERR_COLL_MERGE' : 'ERR_COLL_MISMATCH';
    await expect(run).rejects.toMatchObject({ code, message: expect.not.stringContaining('int16 elements on rank 1') });
  });

  it.each<[string, string, (strategy: MultiWorkerMirroredStrategy) => Promise<unknown>, number, 'sum' | 'max']>([
    [
      'the count of a reduce along an axis',
      'reduce along an axis',
      (own) => own.reduce('sum', tensor([1]), 0),
      14,
      'sum',
    ],
    [
      'the end of a run in threads',
      'the end of a run',
      ({ extended }) => extended.workers.allReduceFor('worker end', 'MAX', tensor([0])),
      1,
      'max',
    ],
    [
      'the value of a variable',
      'value of a variable of 2 float64 elements',
      ({ extended }) => extended.workers.broadcast([tensor([1, 2])], 0),
      2,
      'max',
    ],
  ])('between workers: %s', async (_, name, meet, length, op) => {
    const [first, last] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy, MultiWorkerMirroredStrategy];
    const failure = { code: 'ERR_COLL_MISMATCH', message: expect.stringContaining(`${name} on rank 0`) };
    await Promise.all([
      expect(meet(first)).rejects.toMatchObject(failure),
      expect(last.run((replica) => replica.allReduce(op, new Float64Array(length)))).rejects.toMatchObject(failure),
    ]);
  });
});
