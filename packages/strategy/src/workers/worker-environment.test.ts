import { DistributedValues, registry, type Tensor, tensor } from '@coll/core';
import { createThreadGroup } from '@coll/core/plugin';
import { TcpStoreServer } from '@coll/rendezvous';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ReplicaEnvironment } from '../strategies/plugin-environment.js';
import type { ThreadStart } from '../threads/thread-messages.js';
import { openWorkerEnvironment } from './worker-environment.js';
import type { WorkerSetup } from './worker-messages.js';

/** Opens the environment of the only replica of a worker. */
function environmentOf(worker: number | undefined, setup: Partial<WorkerSetup>): Promise<ReplicaEnvironment> {
  const device = `/job:${worker === undefined ? 'localhost' : 'worker'}/replica:0/task:${worker ?? 0}/device:CPU:0`;
  const whole: WorkerSetup = {
    ...{
      cluster: {},
      task: undefined,
      groupConfig: undefined,
      communication: { timeoutSeconds: 7 },
      crossDeviceOps: undefined,
      nccl: undefined,
    },
    ...setup,
  };
  const start: ThreadStart = {
    ...{
      replica: 0,
      firstReplica: worker ?? 0,
      devices: [device],
      group: createThreadGroup({ size: 1 }),
      setup: whole,
      endRequests: new Int32Array(new SharedArrayBuffer(12)),
    },
    ...{ module: 'data:text/javascript,', exportName: undefined, args: [] },
  };
  return openWorkerEnvironment(start, whole);
}

/** A replica's result of an all-reduce that sums the values of all replicas. */
async function sumOf({ ops }: ReplicaEnvironment, replica: number, value: number): Promise<number[]> {
  const group = ops.replicaGroup;
  if (!group) throw new Error('no group');
  const sum = (await group.run(group.reduceCall('SUM', tensor([value]), replica))) as Tensor;
  return [...sum.data].map(Number);
}

it('the thread of a single worker has its strategy, ops and options until it ends', async () => {
  const environment = await environmentOf(undefined, {});
  expect(environment.defaults).toMatchObject({ timeoutSeconds: 7 });
  expect([environment.strategy.numReplicasInSync, environment.strategy.extended.workers.size]).toEqual([1, 1]);
  expect(await sumOf(environment, 0, 5)).toEqual([5]);
  expect(environment.fail?.(new Error('nobody else'))).toBeUndefined();
  await environment[Symbol.asyncDispose]();
  await expect(environment.strategy.reduce('SUM', tensor([1]), null)).rejects.toMatchObject({
    code: 'ERR_COLL_CLOSED',
  });
  await expect(sumOf(environment, 0, 5)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
});

it('the thread of one of several workers joins the others, and fails together with them', async () => {
  const job = { job: 'environments', jobKey: TcpStoreServer.newKey() };
  await using server = await TcpStoreServer.listen(job);
  const storeAddress = { ...job, generation: 0, address: server.address, isOfWorker: false, isHere: false };
  const cluster = { worker: ['a:1', 'b:1'] };
  const environments = await Promise.all(
    [0, 1].map((rank) =>
      environmentOf(rank, {
        ...{ cluster, task: { taskType: 'worker', taskId: rank } },
        groupConfig: { storeAddress, rank, size: 2, transport: {}, startupTimeoutSeconds: 60, scope: 'threads' },
      }),
    ),
  );
  expect(environments.map(({ strategy }) => strategy.extended.firstReplica)).toEqual([0, 1]);
  expect(await Promise.all(environments.map((environment, rank) => sumOf(environment, rank, rank + 5)))).toEqual([
    [11],
    [11],
  ]);
  const [first, second] = environments as [ReplicaEnvironment, ReplicaEnvironment];
  second.fail?.('out of memory');
  await expect(sumOf(first, 0, 1)).rejects.toThrow('out of memory');
  await Promise.all(environments.map((environment) => environment[Symbol.asyncDispose]()));
  expect(first.strategy.experimentalLocalResults(1)).not.toBeInstanceOf(DistributedValues);
});

describe('NCCL', () => {
  const code = 'export const nccl = { name: "nccl", apiVersion: 1, priority: 0, module: "file:///x.js", create() {} };';
  const nccl = { name: 'nccl', module: `data:text/javascript,${encodeURIComponent(code)}`, options: undefined };

  // A registration cannot be undone and would affect all other tests, so the registry is mocked.
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('is registered in the thread if it was passed on and is not registered yet', async () => {
    const register = vi.spyOn(registry, 'register').mockImplementation(() => {});
    const has = vi.spyOn(registry, 'has').mockReturnValue(false);
    await (await environmentOf(undefined, {}))[Symbol.asyncDispose]();
    expect(register).not.toHaveBeenCalled();
    await (await environmentOf(undefined, { nccl }))[Symbol.asyncDispose]();
    expect(register.mock.calls).toEqual([[expect.objectContaining({ name: 'nccl', module: 'file:///x.js' })]]);
    has.mockImplementation((name) => name === 'nccl');
    await (await environmentOf(undefined, { nccl }))[Symbol.asyncDispose]();
    expect(register).toHaveBeenCalledTimes(1);
  });
});
