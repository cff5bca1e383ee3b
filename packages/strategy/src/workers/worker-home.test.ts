import { DistributedValues, registry, type Tensor, tensor } from '@coll/core';
import { createThreadGroup } from '@coll/core/plugin';
import { TcpStoreServer } from '@coll/rendezvous';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ThreadHome } from '../strategies/plugin-home.js';
import type { ThreadStart } from '../threads/thread-messages.js';
import { openWorkerHome } from './worker-home.js';
import type { WorkerHome } from './worker-messages.js';

/** Opens the environment of the only replica of a worker. */
function homeOf(worker: number | undefined, home: Partial<WorkerHome>): Promise<ThreadHome> {
  const device = `/job:${worker === undefined ? 'localhost' : 'worker'}/replica:0/task:${worker ?? 0}/device:CPU:0`;
  const whole: WorkerHome = {
    ...{ cluster: {}, task: undefined, seat: undefined, communication: { timeoutSeconds: 7 }, nccl: undefined },
    ...home,
  };
  const start: ThreadStart = {
    ...{ replica: 0, firstReplica: worker ?? 0, devices: [device], group: createThreadGroup({ size: 1 }), home: whole },
    ...{ module: 'data:text/javascript,', exportName: undefined, args: [] },
  };
  return openWorkerHome(start, whole);
}

/** A replica's result of an all-reduce that sums the values of all replicas. */
async function sumOf({ ops }: ThreadHome, replica: number, value: number): Promise<number[]> {
  const group = ops.replicaGroup;
  if (!group) throw new Error('no group');
  const sum = (await group.run(group.reduceCall('SUM', tensor([value]), replica))) as Tensor;
  return [...sum.data].map(Number);
}

it('the thread of a single worker has its strategy, ops and options until it ends', async () => {
  const home = await homeOf(undefined, {});
  expect(home.defaults).toMatchObject({ timeoutSeconds: 7 });
  expect([home.strategy.numReplicasInSync, home.strategy.extended.workers.size]).toEqual([1, 1]);
  expect(await sumOf(home, 0, 5)).toEqual([5]);
  expect(home.fail?.(new Error('nobody else'))).toBeUndefined();
  await home[Symbol.asyncDispose]();
  await expect(home.strategy.reduce('SUM', tensor([1]), null)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
  await expect(sumOf(home, 0, 5)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
});

it('the thread of one of several workers joins the others, and fails together with them', async () => {
  const job = { job: 'homes', jobKey: TcpStoreServer.newKey() };
  await using server = await TcpStoreServer.listen(job);
  const meeting = { ...job, generation: 0, address: server.address, isOfWorker: false, isHere: false };
  const cluster = { worker: ['a:1', 'b:1'] };
  const homes = await Promise.all(
    [0, 1].map((rank) =>
      homeOf(rank, {
        ...{ cluster, task: { taskType: 'worker', taskId: rank } },
        seat: { meeting, rank, size: 2, transport: {}, startupTimeoutSeconds: 60, scope: 'threads' },
      }),
    ),
  );
  expect(homes.map(({ strategy }) => strategy.extended.firstReplica)).toEqual([0, 1]);
  expect(await Promise.all(homes.map((home, rank) => sumOf(home, rank, rank + 5)))).toEqual([[11], [11]]);
  const [first, second] = homes as [ThreadHome, ThreadHome];
  second.fail?.('out of memory');
  await expect(sumOf(first, 0, 1)).rejects.toThrow('out of memory');
  await Promise.all(homes.map((home) => home[Symbol.asyncDispose]()));
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
    await (await homeOf(undefined, {}))[Symbol.asyncDispose]();
    expect(register).not.toHaveBeenCalled();
    await (await homeOf(undefined, { nccl }))[Symbol.asyncDispose]();
    expect(register.mock.calls).toEqual([[expect.objectContaining({ name: 'nccl', module: 'file:///x.js' })]]);
    has.mockImplementation((name) => name === 'nccl');
    await (await homeOf(undefined, { nccl }))[Symbol.asyncDispose]();
    expect(register).toHaveBeenCalledTimes(1);
  });
});
