import type { Algorithm, Collective, CollectiveKind } from '@coll/core';
import { cost } from '@coll/core/schedule';
import { drawn } from '../catalogue.ts';
import { collectiveOf } from '../collective.ts';
import { markdownTable } from '../markdown-table.ts';

const groups = [2, 4, 8, 64];

// Chunks of all these groups divide this buffer evenly, so that all shares are short decimal fractions.
const bytes = 64 * 64;

/** The rounds and bytes of the drawn algorithms for a collective, for several numbers of ranks. */
export function numbersTable(kind: CollectiveKind): string {
  const collective = collectiveOf(kind, 0);
  const rows = drawn.flatMap(({ name, algorithmFor }) =>
    groups.flatMap((ranks) => {
      const algorithm = algorithmFor(ranks);
      return algorithm.refuses?.(collective, ranks) === undefined ? [rowOf(name, algorithm, collective, ranks)] : [];
    }),
  );
  return markdownTable(['algorithm', 'ranks', 'rounds', 'bytes per rank', 'busiest link'], rows);
}

function rowOf(name: string, algorithm: Algorithm, collective: Collective, ranks: number): string[] {
  const machine = { kind: collective.kind, bytes, alpha: 0, beta: 0, gamma: 0 };
  const { rounds, bytesPerRank, busiestLink } = cost(algorithm.plan(collective, ranks), machine);
  return [name, `${ranks}`, `${rounds}`, share(bytesPerRank), share(busiestLink?.bytes ?? 0)];
}

function share(count: number): string {
  return `${Number((count / bytes).toFixed(3))} S`;
}
