import type { Collective, CollectiveOp } from '@coll/core';

export const ops: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

/** All collectives that combine, with these ops and roots. */
export function reductions(someOps: readonly CollectiveOp[], roots: readonly number[]): Collective[] {
  return someOps.flatMap((op): Collective[] => [
    { kind: 'all-reduce', op },
    { kind: 'reduce-scatter', op },
    ...roots.map((root): Collective => ({ kind: 'reduce', op, root })),
  ]);
}

/** All collectives that only move, with these roots. */
export function moves(roots: readonly number[]): Collective[] {
  const rootedMoves = (['broadcast', 'gather', 'scatter'] as const).flatMap((kind) =>
    roots.map((root): Collective => ({ kind, root })),
  );
  return [{ kind: 'all-gather' }, { kind: 'all-to-all' }, ...rootedMoves];
}

/** One of each kind. */
export function oneOfEach(root: number, op: CollectiveOp = 'sum'): Collective[] {
  return [...reductions([op], [root]), ...moves([root])];
}

/** Sums and moves that have no root. */
export const unrooted: readonly Collective[] = [
  { kind: 'all-reduce', op: 'sum' },
  { kind: 'reduce-scatter', op: 'sum' },
  { kind: 'all-gather' },
  { kind: 'all-to-all' },
];

/** Sums and moves with these roots. */
export function rooted(roots: readonly number[]): Collective[] {
  return roots.flatMap((root): Collective[] => [
    { kind: 'reduce', op: 'sum', root },
    { kind: 'broadcast', root },
    { kind: 'gather', root },
    { kind: 'scatter', root },
  ]);
}
