import { ValueError } from '@coll/core';
import type { Exchange, ReplicaInfo } from './exchange.js';
import { whichAreEqual } from './values-of-all.js';

/** What replicas do with their data, for the message about a difference. */
export interface DataSharing {
  /** The function that shares it. */
  readonly operation: string;
  /** What replicas did that have different data, such as `pass different data to shareOf`. */
  readonly what: string;
  /** What else than a seed, or data that `strategy.run` passes, makes it equal. */
  readonly cures: string;
}

/**
 * Compares a checksum of data with those of the other replicas.
 * @throws ValueError on all replicas if they differ
 */
export function* requireSameChecksum(
  checksum: number,
  { numReplicasInSync }: ReplicaInfo,
  { operation, what, cures }: DataSharing,
): Exchange<void> {
  if (numReplicasInSync === 1) return;
  const [areEqual] = yield* whichAreEqual([checksum]);
  if (areEqual) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `replicas ${what}, so samples would be lost or trained on twice. Is the data shuffled or made without a seed? ` +
      `Seed the shuffle; or load the data once and pass it to all replicas as an argument of strategy.run, ${cures}`,
    { operation },
  );
}
