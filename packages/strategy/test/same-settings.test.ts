import { CommunicationOptions, type CommunicationOptionsInit } from '@coll/core';
import { ClusterSpec, MultiWorkerMirroredStrategy, SimpleClusterResolver } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import { closeGroups, cpus, groupsHere } from './workers-here.js';

afterEach(closeGroups);

/** The error of each worker when they join, given its number of CPUs or its devices. */
async function meet(
  devices: readonly (number | readonly string[])[],
  options: readonly CommunicationOptionsInit[] = [],
): Promise<unknown[]> {
  const groups = await groupsHere(devices.length);
  const cluster = new ClusterSpec({ worker: devices.map((_, worker) => `host:${worker}`) });
  return Promise.all(
    groups.map(async (group, taskId) => {
      const strategy = new MultiWorkerMirroredStrategy({
        clusterResolver: new SimpleClusterResolver(cluster, { taskType: 'worker', taskId }),
        devices: devicesOf(devices[taskId]),
        communicationOptions: new CommunicationOptions(options[taskId]),
        group,
      });
      const outcome = await strategy.ready().catch((error) => error);
      await strategy.close();
      return outcome;
    }),
  );
}

const devicesOf = (devices: number | readonly string[] | undefined) =>
  typeof devices === 'number' ? cpus(devices) : devices;

describe('workers of one strategy', () => {
  it('must have the same number of devices', async () => {
    const message = 'worker 0 has 1 device, worker 2 has 2 devices: all workers must have the same number';
    for (const error of await meet([1, 1, 2])) expect(error).toMatchObject({ code: 'ERR_COLL_CLUSTER', message });
  });

  it.each([
    [['gpu:0'], ['cpu:0'], '1 device (1 GPU)', '1 device'],
    [['gpu:0', 'gpu:1'], ['gpu:0', 'cpu:0'], '2 devices (2 GPUs)', '2 devices (1 GPU)'],
    [['cpu:0', 'cpu:1'], ['gpu:0', 'gpu:1'], '2 devices', '2 devices (2 GPUs)'],
  ])('must have the same number of GPUs, not %j and %j', async (first, second, one, other) => {
    const message = `worker 0 has ${one}, worker 1 has ${other}: all workers must have the same number`;
    for (const error of await meet([first, second]))
      expect(error).toMatchObject({ code: 'ERR_COLL_CLUSTER', message, rank: 1, operation: 'start' });
  });

  it.each<[CommunicationOptionsInit, string]>([
    [{ implementation: 'RING' }, 'implementation: RING, bytesPerPack: 0, checkCalls: false'],
    [{ bytesPerPack: 2 ** 33 }, 'implementation: AUTO, bytesPerPack: 8589934592, checkCalls: false'],
    [{ checkCalls: true }, 'implementation: AUTO, bytesPerPack: 0, checkCalls: true'],
  ])('must have the same communication options: a worker with %j is refused', async (options, odd) => {
    const usual = 'implementation: AUTO, bytesPerPack: 0, checkCalls: false';
    const message = `worker 0 has communicationOptions { ${usual} }, worker 1 has communicationOptions { ${odd} }: all workers must use the same`;
    for (const error of await meet([1, 1], [{}, options]))
      expect(error).toMatchObject({ code: 'ERR_COLL_CLUSTER', message, rank: 1 });
  });

  it('may have different startup timeouts', async () => {
    expect(await meet([1, 1], [{}, { timeoutSeconds: 60 }])).toEqual([undefined, undefined]);
  });
});
