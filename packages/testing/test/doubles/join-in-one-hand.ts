import { ReferenceCommunicator } from '@coll/core/internal';
import { directAlgorithm } from '@coll/direct';
import type { Join } from '@coll/testing';

/** A double of a group of processes: one member has all ranks in its hand. */
export const join: Join = ({ size, algorithm = directAlgorithm(), members }) => {
  if (members !== 1) throw new Error('a hand is one member');
  return { communicator: new ReferenceCommunicator({ size, algorithm }), leave: async () => {} };
};
