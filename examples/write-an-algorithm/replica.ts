import type { ReplicaContext } from '@coll/strategy';

export function replica(context: ReplicaContext) {
  return context.allReduceSync('sum', new Float32Array([context.replicaIdInSyncGroup]));
}
