import type { ReplicaContext } from '@coll/strategy';

/** The module of a replica that does nothing: how many elements of a batch it got, or the number itself. */
export function replica(_: ReplicaContext, batch: number | Float32Array): number {
  return typeof batch === 'number' ? batch : batch.length;
}
