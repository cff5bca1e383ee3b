import type { Collective, CollectiveOp } from '@coll/core';

export const ops: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

/** All collectives that combine values, for each of these ops and each of these roots. */
export function reductions(someOps: readonly CollectiveOp[], roots: readonly number[]): Collective[] {
  return someOps.flatMap((op): Collective[] => [
    { kind: 'all-reduce', op },
    { kind: 'reduce-scatter', op },
    ...roots.map((root): Collective => ({ kind: 'reduce', op, root })),
  ]);
}

/** All collectives that move values without combining them, for each of these roots. */
export function moves(roots: readonly number[]): Collective[] {
  const rootedMoves = (['broadcast', 'gather', 'scatter'] as const).flatMap((kind) =>
    roots.map((root): Collective => ({ kind, root })),
  );
  return [{ kind: 'all-gather' }, { kind: 'all-to-all' }, ...rootedMoves];
}

/** One collective of each kind, with this root and op. */
export function oneOfEach(root: number, op: CollectiveOp = 'sum'): Collective[] {
  return [...reductions([op], [root]), ...moves([root])];
}

/** The collectives without a root; those that combine compute sums. */
export const unrooted: readonly Collective[] = [
  { kind: 'all-reduce', op: 'sum' },
  { kind: 'reduce-scatter', op: 'sum' },
  { kind: 'all-gather' },
  { kind: 'all-to-all' },
];

/** The collectives with a root, for each of these roots; those that combine compute sums. */
export function rooted(roots: readonly number[]): Collective[] {
  return roots.flatMap((root): Collective[] => [
    { kind: 'reduce', op: 'sum', root },
    { kind: 'broadcast', root },
    { kind: 'gather', root },
    { kind: 'scatter', root },
  ]);
}
