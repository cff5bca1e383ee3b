import { ValueError } from '@coll/core';
import { exchangeSync, type ReplicaInfo, type SyncReducer, whichAreEqual } from '@coll/strategy/internal';
import { hashOfTables, type Tables } from './tables.js';

/**
 * Compares a checksum of data with those of the other replicas.
 * @param tables undefined if the replica has no data
 * @param what replicas do with it, for the message
 * @throws ValueError on all replicas if their data differs
 */
export function requireSameData(tables: Tables | undefined, context: ReplicaInfo & SyncReducer, what: string): void {
  if (context.numReplicasInSync === 1) return;
  const [areEqual] = exchangeSync(whichAreEqual([tables ? hashOfTables(tables) : -1]), context);
  if (areEqual) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `replicas ${what}, so samples would be lost or trained on twice. Is the data shuffled or made without a seed? ` +
      'Seed the shuffle; or load the data once and pass it to all replicas as an argument of strategy.run, ' +
      'or take that of replica 0 by shareOf(tf, data, context, { from: 0 }); or share the data before you shuffle it',
    { operation: 'shareOf' },
  );
}
