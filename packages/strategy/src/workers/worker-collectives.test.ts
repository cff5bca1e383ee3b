import { CommunicationOptions, type ProcessGroup, resolveEngine, type Tensor, tensor } from '@coll/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { closeGroups, groupsHere } from '../../test/workers-here.js';
import { WorkerCollectives } from './worker-collectives.js';

afterEach(closeGroups);

/**
 * The collectives of a worker with these devices, and a mock of the function that opens its group.
 */
function collectivesOf(group: ProcessGroup | undefined, workers: number, devices: readonly string[], worker = 0) {
  const names = devices.map((device) => `/job:worker/replica:0/task:${worker}/device:${device}`);
  const dispose = vi.fn(async () => {});
  const open = vi.fn(async () => {
    if (!group) throw new RangeError('nobody came');
    return { group, [Symbol.asyncDispose]: dispose };
  });
  const collectives = new WorkerCollectives({
    choice: undefined,
    ...{ workers, devices: names, host: `/job:worker/replica:0/task:${worker}/device:CPU:0`, open },
    communication: new CommunicationOptions(),
    engine: resolveEngine('auto'),
  });
  return { collectives, dispose, open };
}

async function twoWorkers(...devices: readonly string[]) {
  const groups = await groupsHere(2);
  return groups.map((group, worker) => collectivesOf(group, 2, devices, worker));
}

describe('a single worker', () => {
  it('returns values unchanged and opens no group', async () => {
    const { collectives, open } = collectivesOf(undefined, 1, ['CPU:0', 'CPU:1']);
    const values = [tensor([1])];
    const [value] = values as [Tensor];
    expect(await collectives.broadcast(values, 0)).toBe(values);
    expect(collectives.broadcastSync(value, 0)).toBe(value);
    expect(await collectives.allReduce('SUM', value)).toBe(value);
    expect(collectives.allReduceSync('SUM', value)).toBe(value);
    await collectives.ready();
    expect([collectives.links, collectives.failure()]).toEqual([[], undefined]);
    expect(collectives.fail(new Error('alone'))).toBeUndefined();
    await collectives.close();
    expect(open).not.toHaveBeenCalled();
  });
});

describe('workers that have not joined yet', () => {
  it('have no links and no failure, and refuse synchronous calls', () => {
    const { collectives, open } = collectivesOf(undefined, 2, ['CPU:0']);
    expect([collectives.links, collectives.failure()]).toEqual([[], undefined]);
    expect(collectives.fail(new Error('early'))).toBeUndefined();
    const refused = (operation: string) => expect.objectContaining({ code: 'ERR_COLL_CONTEXT', operation });
    expect(() => collectives.allReduceSync('SUM', tensor(1))).toThrow(refused('all-reduce'));
    expect(() => collectives.broadcastSync(tensor(1), 0)).toThrow(refused('broadcast'));
    expect(open).not.toHaveBeenCalled();
  });

  it('retry after a failed start until they are closed', async () => {
    const { collectives, open } = collectivesOf(undefined, 2, ['CPU:0']);
    for (let time = 1; time <= 2; time++) {
      await expect(collectives.ready()).rejects.toThrow('nobody came');
      expect(open).toHaveBeenCalledTimes(time);
    }
    await collectives.close();
    await expect(collectives.ready()).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_CLOSED', operation: 'start' },
      message: 'this MultiWorkerMirroredStrategy was closed; create a new one',
    });
    expect(open).toHaveBeenCalledTimes(2);
  });
});

describe('two workers', () => {
  it.each([
    [['CPU:0'], true],
    [['GPU:0'], false],
    [['CPU:0', 'CPU:1'], false],
  ])('with the devices %j use the same ops for their devices and their CPUs: %s', async (devices, isOnHost) => {
    const workers = await twoWorkers(...devices);
    for (const same of await Promise.all(
      workers.map(async ({ collectives }) => (await collectives.deviceOps()) === (await collectives.hostOps())),
    ))
      expect(same).toBe(isOnHost);
    await Promise.all(workers.map(({ collectives }) => collectives.close()));
    for (const { dispose, open } of workers) {
      expect(open).toHaveBeenCalledTimes(1);
      expect(dispose).toHaveBeenCalledTimes(1);
    }
  });

  it('reduce and broadcast their values', async () => {
    const workers = await twoWorkers('CPU:0', 'CPU:1');
    const results = await Promise.all(
      workers.map(async ({ collectives }, worker) => {
        const sum = await collectives.allReduce('SUM', tensor([worker + 1]));
        const [ofLast] = await collectives.broadcast([tensor([worker + 5])], 1);
        return [[...sum.data], [...(ofLast as Tensor).data]];
      }),
    );
    expect(results).toEqual([
      [[3], [6]],
      [[3], [6]],
    ]);
    expect(workers.map(({ collectives }) => collectives.links.map(({ rank }) => rank))).toEqual([[1], [0]]);
  });

  it('count the calls refused before they have joined, except for failed attempts to join', async () => {
    const groups = await groupsHere(2);
    const workers = groups.map((group, worker) => collectivesOf(group, 2, ['CPU:0'], worker));
    const [first, second] = workers.map(({ collectives }) => collectives) as [WorkerCollectives, WorkerCollectives];
    workers[0]?.open.mockRejectedValueOnce(new RangeError('nobody came'));
    first.refuse(await first.ready().catch((error: unknown) => error));
    const sums = () => [first, second].map((collectives) => collectives.allReduce('SUM', tensor([1])));
    for (const sum of await Promise.all(sums())) expect(sum.data[0]).toBe(2);
    first.refuse(new RangeError('too far'));
    const failure = { code: 'ERR_COLL_PEER_FAILED', rank: 0 };
    await Promise.all(sums().map((sum) => expect(sum).rejects.toMatchObject(failure)));
  });

  it.each([
    [new RangeError('too far'), 'too far'],
    ['a text', 'a text'],
  ])('both fail if one of them fails with %s, and the message names its replicas', async (thrown, message) => {
    const workers = await twoWorkers('CPU:0', 'CPU:1');
    await Promise.all(workers.map(({ collectives }) => collectives.ready()));
    const [first, second] = workers.map(({ collectives }) => collectives) as [WorkerCollectives, WorkerCollectives];
    expect(first.failure()).toBeUndefined();
    second.fail(thrown);
    await expect.poll(() => first.failure()).toBeInstanceOf(Error);
    expect(first.failure()?.message).toContain(message);
    expect(first.failure()?.message).toContain('2, 3 (worker 1)');
  });

  it('leave the group that they opened if their settings differ', async () => {
    const groups = await groupsHere(2);
    const workers = groups.map((group, worker) =>
      collectivesOf(group, 2, worker === 0 ? ['CPU:0'] : ['CPU:0', 'CPU:1'], worker),
    );
    await Promise.all(
      workers.map(async ({ collectives, dispose }) => {
        await expect(collectives.ready()).rejects.toMatchObject({ code: 'ERR_COLL_CLUSTER' });
        expect(dispose).toHaveBeenCalledTimes(1);
      }),
    );
  });
});
