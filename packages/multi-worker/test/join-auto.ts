import { autoAlgorithm, connectGroup } from '@coll/multi-worker';
import { openProcessGroup } from '@coll/processes';
import { TcpStore } from '@coll/rendezvous';
import type { Join } from '@coll/testing';

/** Where the members of a suite's groups meet. */
export interface JoinOptions {
  readonly address: string;
  readonly job: string;
  readonly jobKey: string;
}

/** A member that chooses an algorithm for each collective. */
export const join: Join = async ({ group: generation, member: rank, members: size, options }) => {
  const { address, job, jobKey } = options as JoinOptions;
  await using store = await TcpStore.connect({ address, job, jobKey });
  // A machine that is busy with other tests may leave a member alone for some seconds.
  const patience = { timeoutSeconds: 120, heartbeatSeconds: 20 };
  const group = await openProcessGroup({ store, job, jobKey, rank, size, generation, ...patience });
  return { communicator: connectGroup(group, autoAlgorithm()), leave: () => group.close() };
};
