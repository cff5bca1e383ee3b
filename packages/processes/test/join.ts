import { type Communicator, hierarchical, setLogSink } from '@coll/core';
import { ReferenceCommunicator } from '@coll/core/internal';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { TcpStore } from '@coll/rendezvous';
import type { Join, MemberInfo } from '@coll/testing';
import { distinguishHosts } from './different-hosts.ts';
import { ownAddress } from './distant-store.ts';

/** Where the members of a suite's groups meet, and how they talk to each other. */
export interface JoinOptions {
  readonly address: string;
  readonly job: string;
  readonly jobKey: string;
  readonly transport: 'shared-memory' | 'tcp';
  readonly encrypt?: 'always' | undefined;
  /** Whether each process counts as a host of its own, and the connections between them have checksums. */
  readonly isChecksummed?: boolean | undefined;
}

/** One rank a member. */
export const join: Join = async (info) => {
  const group = await open(info);
  return { communicator: group.communicator(info.algorithm ?? directAlgorithm()), leave: () => group.close() };
};

/** Half of the ranks in the hand of each of two members, one more in the second's where they are odd. */
export const joinTwoLevels: Join = async (info) => {
  const group = await open(info);
  const ranksPerWorker = info.members === 1 ? [info.size] : [Math.floor(info.size / 2), Math.ceil(info.size / 2)];
  const within = portable(ranksPerWorker[info.member] as number);
  const communicator = hierarchical([within], group.communicator(directAlgorithm()), { ranksPerWorker });
  return { communicator, leave: () => group.close() };
};

function portable(size: number): Communicator {
  return new ReferenceCommunicator({ size, algorithm: directAlgorithm() });
}

async function open({ group, member, members, options }: MemberInfo) {
  const { address, job, jobKey, transport, encrypt, isChecksummed = false } = options as JoinOptions;
  if (isChecksummed) {
    distinguishHosts(`process-${process.pid}`);
    // Each group would warn that it is not encrypted.
    setLogSink(() => {});
  }
  await using store = await TcpStore.connect({ address, job, jobKey });
  // A machine that is busy with other tests may leave a member alone for some seconds.
  const patience = { timeoutSeconds: 120, heartbeatSeconds: 20 };
  return await openProcessGroup({
    store,
    job,
    jobKey,
    rank: member,
    size: members,
    generation: group,
    transport,
    encrypt,
    ...(isChecksummed && { insecure: true, host: ownAddress }),
    ...patience,
  });
}
