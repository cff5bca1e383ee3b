import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { ReplicaContext } from '../scope/strategy.js';

/** @throws ValueError unless `context` is the context of a replica and has the method `method` */
export function requireContext(context: unknown, method: keyof ReplicaContext, operation: string): void {
  const given = Object(context) as Partial<ReplicaContext>;
  const isReplicaInfo = Number.isInteger(given.numReplicasInSync) && Number.isInteger(given.replicaIdInSyncGroup);
  if (isReplicaInfo && typeof given[method] === 'function') return;
  const message = `context must be the replica context that strategy.run passes to each replica, with the method ${method}, got ${quote(context)}`;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
}
