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
  return [{ kind: 'all-gather' }, ...roots.map((root): Collective => ({ kind: 'broadcast', root }))];
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
];

/** Sums and moves with these roots. */
export function rooted(roots: readonly number[]): Collective[] {
  return roots.flatMap((root): Collective[] => [
    { kind: 'reduce', op: 'sum', root },
    { kind: 'broadcast', root },
  ]);
}
