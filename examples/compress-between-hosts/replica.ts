import type { ReplicaContext } from '@coll/strategy';

const elements = Float32Array.of(1, 1 / 3, 257);

/** Each replica contributes the same values. */
export function replica(context: ReplicaContext) {
  return context.allReduceSync('sum', elements);
}
