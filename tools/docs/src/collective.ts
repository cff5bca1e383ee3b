import type { Collective, CollectiveKind } from '@coll/core';

/** A collective of a kind: a sum if the kind has an op, with this root if it has one. */
export function collectiveOf(kind: CollectiveKind, root: number): Collective {
  switch (kind) {
    case 'all-reduce':
    case 'reduce-scatter':
      return { kind, op: 'sum' };
    case 'reduce':
      return { kind, op: 'sum', root };
    case 'broadcast':
    case 'gather':
    case 'scatter':
      return { kind, root };
    default:
      return { kind };
  }
}
