import { expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import type { Algorithm } from './schedule.js';
import { problemOf } from './verify.js';
import { withFallbackTransfers } from './with-fallback-transfers.js';

const refusal = 'only all-reduce';
const reducing: Algorithm = {
  name: 'reducing',
  refuses: ({ kind }) => (kind === 'all-reduce' ? undefined : refusal),
  plan: (_, ranks) => ({ ranks, chunks: 7, rounds: [] }),
};

it.each([1, 2, 3, 7])(
  'withFallbackTransfers provides the collectives without a reduction that the algorithm refuses, for %i ranks',
  (ranks) => {
    const kinds = ['broadcast', 'gather', 'scatter'] as const;
    const rooted = kinds.flatMap((kind) => Array.from({ length: ranks }, (_, root): Collective => ({ kind, root })));
    for (const collective of [{ kind: 'all-gather' } as const, { kind: 'all-to-all' } as const, ...rooted]) {
      expect(withFallbackTransfers(reducing).refuses?.(collective, ranks)).toBeUndefined();
      expect(problemOf(withFallbackTransfers(reducing).plan(collective, ranks), collective)).toBeUndefined();
    }
  },
);

it('withFallbackTransfers leaves all other collectives to the algorithm', () => {
  const { name, plan, refuses } = withFallbackTransfers(reducing);
  expect(name).toBe('reducing');
  expect(plan({ kind: 'all-reduce', op: 'sum' }, 3).chunks).toBe(7);
  expect(refuses?.({ kind: 'reduce-scatter', op: 'sum' }, 3)).toBe(refusal);
  const moving: Algorithm = { ...reducing, refuses: () => undefined };
  expect(withFallbackTransfers(moving).plan({ kind: 'all-gather' }, 3).chunks).toBe(7);
});
