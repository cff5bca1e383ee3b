import { type ProcessGroup, setLogSink } from '@coll/core';
import { TcpStoreServer } from '@coll/rendezvous';
import { ClusterSpec } from '@coll/rendezvous/internal';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { closeGroups, groupsHere } from '../../test/workers-here.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { SimpleClusterResolver } from '../cluster/simple-cluster-resolver.js';
import {
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
} from './multi-worker-mirrored-strategy.js';

const lines: string[] = [];
beforeEach(() => setLogSink((level, line) => lines.push(`${level} ${line}`)));
afterEach(async () => {
  lines.length = 0;
  setLogSink();
  await closeGroups();
});

/** One of two workers, whose store does not exist. */
function workerOf(taskId: number, options: MultiWorkerMirroredStrategyOptions = {}) {
  const cluster = new ClusterSpec({ worker: ['127.0.0.1:1', '127.0.0.1:2'] });
  const clusterResolver = new SimpleClusterResolver(cluster, { taskType: 'worker', taskId });
  return new MultiWorkerMirroredStrategy({ clusterResolver, jobKey: 'tests-only-4kQz9XvB7mLwR2', ...options });
}

describe('the log line of a multi-worker strategy', () => {
  it("contains the worker's index, its devices and its communication", () => {
    workerOf(1, { devices: ['cpu:0', 'cpu:1'], communicationOptions: { implementation: 'RING' } });
    const devices = [0, 1].map((cpu) => `/job:worker/replica:0/task:1/device:CPU:${cpu}`).join(', ');
    expect(lines).toEqual([
      `debug MultiWorkerMirroredStrategy as worker 1 of 2, with devices ${devices}, communication RING`,
    ]);
  });

  it('names the launcher', () => {
    const variables = { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: 'h' };
    new MultiWorkerMirroredStrategy({ clusterResolver: new EnvironmentClusterResolver({ variables }) });
    expect(lines).toEqual([expect.stringMatching(/as worker 0 of 2 \(torchrun\), with devices \/job:worker/)]);
  });
});

it('MultiWorkerMirroredStrategy passes its options to the group that it opens', async () => {
  const job = { job: 'options', jobKey: TcpStoreServer.newKey() };
  await using server = await TcpStoreServer.listen(job);
  vi.stubEnv('COLL_STORE', server.address);
  const refused = { name: 'ValueError', message: expect.stringContaining('heartbeatSeconds') };
  await expect(workerOf(1, { ...job, heartbeatSeconds: 0 }).ready()).rejects.toMatchObject(refused);
  vi.unstubAllEnvs();
});

it('an error names run if another strategy is current', async () => {
  const running = strategyOf(1).scope(() => workerOf(0).run(() => 1));
  await expect(running).rejects.toMatchObject({ code: 'ERR_COLL_CONTEXT', operation: 'run' });
});

it('a using block closes MultiWorkerMirroredStrategy at its end', async () => {
  let closed: MultiWorkerMirroredStrategy | undefined;
  {
    await using strategy = workerOf(1);
    closed = strategy;
  }
  await expect(closed.ready()).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
});

it('only the group of a single worker can be sent to threads, and a given group compares results itself', async () => {
  const module = new URL('file:///nowhere/replica.js');
  const [group] = (await groupsHere(1)) as [ProcessGroup];
  const cluster = new ClusterSpec({ worker: ['127.0.0.1:1'] });
  const clusterResolver = new SimpleClusterResolver(cluster, { taskType: 'worker', taskId: 0 });
  await using alone = new MultiWorkerMirroredStrategy({ clusterResolver, group, devices: ['cpu:0'] });
  await expect(alone.run(module)).rejects.not.toMatchObject({ code: 'ERR_COLL_NOT_CLONEABLE' });
  const [first] = (await groupsHere(2)) as [ProcessGroup];
  expect(() => workerOf(0, { group: first, checkResults: 1 })).toThrow('pass it to openProcessGroup');
  const refused = { code: 'ERR_COLL_NOT_CLONEABLE', operation: 'run' };
  await expect(workerOf(0, { group: first }).run(module)).rejects.toMatchObject(refused);
});
