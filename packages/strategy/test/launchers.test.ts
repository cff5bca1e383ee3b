import { once } from 'node:events';
import { createServer } from 'node:net';
import { TcpStoreServer } from '@coll/rendezvous';
import { reachableAddress } from '@coll/rendezvous/internal';
import type { Environment } from '@coll/strategy';
import { beforeAll, describe, expect, it } from 'vitest';
import { launchWorkers } from './launched-workers.js';
import { type LauncherEnvironment, launcherEnvironments } from './launcher-environments.js';

let here: string;
const COLL_JOB_KEY = TcpStoreServer.newKey();

beforeAll(async () => {
  here = await reachableAddress();
});

function workersOf({ of }: LauncherEnvironment): Environment[] {
  return [0, 1].map((rank) => ({ ...of(rank, here), COLL_JOB_KEY }));
}

function named(launcher: string): LauncherEnvironment {
  return launcherEnvironments.find((one) => one.launcher === launcher) as LauncherEnvironment;
}

describe.each(launcherEnvironments)(
  'two workers with the variables of $launcher ($source) and a job key',
  (launched) => {
    it('meet in a MultiWorkerMirroredStrategy', async () => {
      const ended = { code: 0, stderr: '', told: { launcher: launched.launcher, sum: [2, 4] } };
      expect(await launchWorkers(workersOf(launched), here)).toEqual([ended, ended]);
    });
  },
);

describe.each(['torchrun', 'Horovod'])('beside the server of %s', (launcher) => {
  it('workers meet at another port, which they derive from that of the server', async () => {
    const [first, second] = workersOf(named(launcher));
    const host = first?.['MASTER_ADDR'] ?? here;
    await using server = createServer().listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const variables = { MASTER_PORT: `${port}`, HOROVOD_GLOO_RENDEZVOUS_PORT: `${port}` };
    const ends = await launchWorkers(
      [first, second].map((one) => ({ ...one, ...variables })),
      here,
    );
    expect(ends.map(({ told }) => told)).toEqual([1, 2].map(() => ({ launcher, sum: [2, 4] })));
  });
});

describe.each(['Slurm', 'AWS Batch', 'MPICH'])('with the variables of %s', (launcher) => {
  it('openProcessGroup opens the same group', async () => {
    const ends = await launchWorkers(workersOf(named(launcher)), here, 'group');
    expect(ends.map(({ told, stderr }) => told ?? stderr)).toEqual([0, 1].map((rank) => ({ rank, sum: [2, 4] })));
  });
});
