import type { ReplicaContext } from '@coll/strategy';

/** The module of an idle replica. It returns its argument, or the length of its batch. */
export function replica(_: ReplicaContext, batch: number | Float32Array): number {
  return typeof batch === 'number' ? batch : batch.length;
}
