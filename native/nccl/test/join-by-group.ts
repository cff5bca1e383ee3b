import { processWorld } from '@coll/core/plugin';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { TcpStore } from '@coll/rendezvous';
import type { Join } from '@coll/testing';
import { ProcessCommunicator } from '../src/process-communicator.ts';
import { ProcessGpus } from '../src/process-gpus.ts';
import './doubles.ts';

const jobKey = 'tests-only-4kQz9XvB7mLwR2';

/** Becomes a member of a process group that has NCCL do its arithmetic, with a GPU for each process; run in a process of its own. */
export const join: Join = async ({ group: generation, member: rank, members: size }) => {
  await using store = await TcpStore.connect({
    address: process.env['COLL_TEST_STORE'] as string,
    job: 'nccl',
    jobKey,
  });
  const group = await openProcessGroup({ store, jobKey, rank, size, generation });
  const devices = Array.from({ length: size }, (_, task) => `/job:worker/task:${task}/device:GPU:${task}`);
  const gpus = new ProcessGpus(processWorld(group, devices), {});
  const communicator = new ProcessCommunicator(group.communicator(directAlgorithm()), gpus);
  return { communicator, leave: () => group.close() };
};
