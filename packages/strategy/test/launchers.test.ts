import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TcpStoreServer } from '@coll/rendezvous';
import { reachableAddress } from '@coll/rendezvous/internal';
import type { Environment } from '@coll/strategy';
import { beforeAll, describe, expect, it } from 'vitest';
import { PmiServerDouble } from '../../rendezvous/test/pmi-server-double.ts';
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
      const ended = { code: 0, stderr: '', printed: { launcher: launched.launcher, sum: [2, 4] } };
      expect(await launchWorkers(workersOf(launched), { here })).toEqual([ended, ended]);
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
      { here },
    );
    expect(ends.map(({ printed }) => printed)).toEqual([1, 2].map(() => ({ launcher, sum: [2, 4] })));
  });
});

describe.each(['Slurm', 'AWS Batch', 'MPICH'])('with the variables of %s', (launcher) => {
  it('openProcessGroup opens the same group', async () => {
    const ends = await launchWorkers(workersOf(named(launcher)), { here, scenario: 'group' });
    expect(ends.map(({ printed, stderr }) => printed ?? stderr)).toEqual([0, 1].map((rank) => ({ rank, sum: [2, 4] })));
  });
});

describe('a launcher that serves PMI on one host', () => {
  const slurm = (rank: number) => ({
    ...named('Slurm').of(rank, here),
    ...{ SLURM_STEP_TASKS_PER_NODE: '2', SLURM_NODEID: '0', SLURM_LOCALID: `${rank}`, PMI_JOBID: '1.0' },
  });

  it.each(['MPICH', 'MVAPICH2', 'Cray PALS', 'Flux', 'Slurm'])('needs nothing else: %s', async (launcher) => {
    const pmi = new PmiServerDouble(2);
    const members = [0, 1].map((rank) => (launcher === 'Slurm' ? slurm(rank) : named(launcher).of(rank, here)));
    const ended = { code: 0, stderr: '', printed: { launcher, sum: [2, 4] } };
    expect(await launchWorkers(members, { here, pmi })).toEqual([ended, ended]);
    // Both have reported to the launcher that they may end without each other.
    expect(pmi.finalized).toBe(2);
  });

  it('learns that a process ended well even if it has closed nothing, but not if it has failed', async () => {
    const members = [0, 1].map((rank) => named('MPICH').of(rank, here));
    const unclosed = new PmiServerDouble(2);
    const ends = await launchWorkers(members, { here, pmi: unclosed, scenario: 'unclosed' });
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(unclosed.finalized).toBe(2);
    const failed = new PmiServerDouble(2);
    await launchWorkers(members, { here, pmi: failed, scenario: 'fails' });
    expect(failed.finalized).toBe(0);
  });

  it('is not asked for a key between hosts, unless it is trusted', async () => {
    const members = [0, 1].map((rank) => ({
      ...named('MPICH').of(rank, here),
      MPI_LOCALRANKID: '0',
      MPI_LOCALNRANKS: '1',
    }));
    for (const { printed } of await launchWorkers(members, { here, pmi: new PmiServerDouble(2) }))
      expect(printed).toMatchObject({
        name: 'ValueError',
        message: expect.stringContaining('COLL_TRUST_LAUNCHER=1 lets it'),
      });
    const trusting = members.map((one) => ({ ...one, COLL_TRUST_LAUNCHER: '1' }));
    const ended = { code: 0, stderr: '', printed: { launcher: 'MPICH', sum: [2, 4] } };
    expect(await launchWorkers(trusting, { here, pmi: new PmiServerDouble(2) })).toEqual([ended, ended]);
    const keyed = members.map((one) => ({ ...one, COLL_JOB_KEY }));
    expect(await launchWorkers(keyed, { here, pmi: new PmiServerDouble(2) })).toEqual([ended, ended]);
  });
});

it('a PMIx job on one host meets through the folder that its launcher has made, and needs nothing else', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'coll-session-'));
  const members = [0, 1].map((rank) => ({
    ...named('Open MPI').of(rank, here),
    ...{ OMPI_COMM_WORLD_LOCAL_RANK: `${rank}`, OMPI_COMM_WORLD_LOCAL_SIZE: '2', PMIX_SERVER_TMPDIR: folder },
  }));
  const ended = { code: 0, stderr: '', printed: { launcher: 'Open MPI', sum: [2, 4] } };
  expect(await launchWorkers(members, { here })).toEqual([ended, ended]);
  await rm(folder, { recursive: true });
});
