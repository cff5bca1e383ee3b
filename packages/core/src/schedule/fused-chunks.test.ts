import { directAlgorithm } from '@coll/direct';
import { expect, it } from 'vitest';
import { fusedChunks } from './fused-chunks.js';
import type { Schedule } from './schedule.js';

it('fusedChunks returns a chain for every chunk that ranks add up one after the other', () => {
  const collective = { kind: 'all-reduce', op: 'sum' } as const;
  const chunks = fusedChunks(directAlgorithm().plan(collective, 3), collective);
  expect(chunks).toEqual([0, 1, 2].map(() => ({ chain: [0, 1, 2], steps: [], targets: [0, 1, 2] })));
});

it('fusedChunks returns steps instead of a chain for a chunk whose partial sums are added to each other', () => {
  const schedule: Schedule = {
    ranks: 4,
    chunks: 1,
    rounds: [
      [
        { from: 1, to: 0, chunk: 0, reduce: true },
        { from: 3, to: 2, chunk: 0, reduce: true },
      ],
      [{ from: 2, to: 0, chunk: 0, reduce: true }],
    ],
  };
  expect(fusedChunks(schedule, { kind: 'reduce', op: 'sum', root: 0 })).toMatchObject([
    {
      chain: undefined,
      steps: [
        { to: 0, operands: [0, 1] },
        { to: 2, operands: [2, 3] },
        { to: 0, operands: [0, 2] },
      ],
      targets: [0],
    },
  ]);
});
