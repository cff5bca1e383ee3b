import { NcclCommunicator } from '@coll/nccl';
import { TcpStore } from '@coll/rendezvous';
import type { Join } from '@coll/testing';
import './doubles.ts';

/** Becomes a member of a group of processes, with as many GPUs as each has ranks; run in a process of its own. */
export const join: Join = async ({ group, member, members, size, options }) => {
  const address = process.env['COLL_TEST_STORE'] as string;
  const store = await TcpStore.connect({ address, job: 'nccl', jobKey: 'sixteen bytes or more' });
  const perProcess = size / members;
  const devices = Array.from({ length: perProcess }, (_, index) => `gpu:${member * perProcess + index}`);
  const request = { store, rank: member, size: members, devices, group: `group ${group}` };
  const { checkCalls = true } = (options ?? {}) as { readonly checkCalls?: boolean };
  const communicator = await NcclCommunicator.connect({ ...request, checkCalls, lostAfterSeconds: 3 });
  return { communicator, leave: () => store.close() };
};
