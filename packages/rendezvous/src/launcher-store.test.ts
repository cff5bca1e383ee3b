import { expect, it } from 'vitest';
import { launcherStore } from './launcher-store.js';
import type { Environment } from './launchers/environment.js';
import { membershipFrom } from './launchers/environment-membership.js';
import type { Membership } from './launchers/membership.js';
import { reachableAddress } from './own-address.js';

const jobKey = 'tests-only-4kQz9XvB7mLwR2';

function meet(environment: Environment, options: { jobKey?: string; host?: string } = { jobKey }) {
  const membership = membershipFrom(environment) as Membership;
  return launcherStore({ membership, environment, job: 'train', jobKey: options.jobKey, host: options.host });
}

const pod = { LWS_WORKER_INDEX: '0', LWS_GROUP_SIZE: '2', LWS_LEADER_ADDRESS: 'no-such-host.invalid' };

it('rank 0 listens at its own address, and the others connect to its name', async () => {
  const own = await reachableAddress();
  expect(await meet(pod)).toEqual({ address: `tcp://${own}:29222`, jobKey, isHere: true });
  const other = await meet({ ...pod, LWS_WORKER_INDEX: '1' });
  expect(other).toEqual({ address: 'tcp://no-such-host.invalid:29222', jobKey, isHere: false });
});

it('rank 0 listens at the host of the options, else at COLL_HOST, if its name says nothing', async () => {
  const variables = { ...pod, COLL_HOST: '10.0.0.7' };
  expect(await meet(variables)).toMatchObject({ address: 'tcp://10.0.0.7:29222' });
  expect(await meet(variables, { jobKey, host: '::1' })).toMatchObject({ address: 'tcp://[::1]:29222' });
  expect(await meet({ ...variables, LWS_LEADER_ADDRESS: '10.0.0.8' })).toMatchObject({
    address: 'tcp://10.0.0.8:29222',
  });
});

it('the main node of AWS Batch finds its own address, which is announced only to the others', async () => {
  const variables = { AWS_BATCH_JOB_NODE_INDEX: '0', AWS_BATCH_JOB_NUM_NODES: '2' };
  expect(await meet(variables)).toMatchObject({ address: `tcp://${await reachableAddress()}:29222` });
  await expect(meet({ ...variables, AWS_BATCH_JOB_NODE_INDEX: '1' })).rejects.toThrow(
    'AWS Batch does not say on which',
  );
});

it.each([0, 1])(
  'the error of rank %i says what to set if its launcher does not say where rank 0 runs',
  async (rank) => {
    await expect(meet({ JOB_COMPLETION_INDEX: `${rank}`, COLL_SIZE: '2' })).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_CLUSTER' },
      message: expect.stringMatching(
        /^Kubernetes indexed job does not say on which host rank 0 runs: set COLL_STORE, .*`coll store/,
      ),
    });
  },
);

it('the error for a missing job key names the launcher and a way to make one', async () => {
  await expect(meet(pod, {})).rejects.toMatchObject({
    ...{ name: 'ValueError', code: 'ERR_COLL_CLUSTER' },
    message: expect.stringMatching(/^COLL_JOB_KEY is not set, and LeaderWorkerSet passes none .* `npx coll key`/),
  });
});
