import { exchangeSync, type ReplicaInfo, requireSameChecksum, type SyncReducer } from '@coll/strategy/internal';
import { hashOfTables, type Tables } from './tables.js';

const cures =
  'or take that of replica 0 by shareOf(tf, data, context, { from: 0 }); or share the data before you shuffle it';

/**
 * Compares a checksum of data with those of the other replicas.
 * @param tables undefined if the replica has no data
 * @param what replicas do with it, for the message
 * @throws ValueError on all replicas if their data differs
 */
export function requireSameData(tables: Tables | undefined, context: ReplicaInfo & SyncReducer, what: string): void {
  if (context.numReplicasInSync === 1) return;
  const checksum = tables ? hashOfTables(tables) : -1;
  exchangeSync(requireSameChecksum(checksum, context, { operation: 'shareOf', what, cures }), context);
}
