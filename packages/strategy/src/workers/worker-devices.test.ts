import { ClusterSpec } from '@coll/rendezvous/internal';
import { expect, it, vi } from 'vitest';
import { SimpleClusterResolver } from '../cluster/simple-cluster-resolver.js';
import { ownDevices, taskName, workerDevices } from './worker-devices.js';
import { workerInfoOf } from './worker-info.js';

const cluster = new ClusterSpec({ worker: ['a:1', 'b:1'] });
const resolver = new SimpleClusterResolver(cluster, {
  ...{ taskType: 'worker', taskId: 1, numAccelerators: { GPU: 2 } },
});
const info = workerInfoOf(resolver);
const alone = workerInfoOf(new SimpleClusterResolver(new ClusterSpec()));

it("worker devices are the GPUs that the resolver returns for the worker's task", () => {
  const count = vi.spyOn(resolver, 'numAccelerators');
  expect(workerDevices(undefined, info, resolver)).toEqual(
    [0, 1].map((gpu) => `/job:worker/replica:0/task:1/device:GPU:${gpu}`),
  );
  expect(count).toHaveBeenLastCalledWith({ taskType: 'worker', taskId: 1 });
  expect(workerDevices(undefined, alone, resolver)).toHaveLength(2);
  expect(count).toHaveBeenLastCalledWith({});
});

it.each([-1, 0.5, '2', null])('worker devices are refused if the resolver returns %j as the number of GPUs', (GPU) => {
  const odd = new SimpleClusterResolver(cluster, { numAccelerators: { GPU: GPU as number } });
  const message = `numAccelerators of the resolver must return the number of GPUs, such as { GPU: 2 }, got { GPU: ${JSON.stringify(GPU)} }`;
  expect(() => workerDevices(undefined, info, odd)).toThrow(
    expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER', message }),
  );
});

it('a worker without GPUs has a CPU device', () => {
  const none = new SimpleClusterResolver(cluster);
  expect(workerDevices(undefined, info, none)).toEqual(['/job:worker/replica:0/task:1/device:CPU:0']);
});

it('worker devices must belong to the worker', () => {
  expect(taskName(info)).toBe('/job:worker/replica:0/task:1');
  expect(taskName(alone)).toBe('');
  expect(ownDevices(['cpu:3', '/job:worker/task:1/gpu:0'], info)).toEqual([
    '/job:worker/replica:0/task:1/device:CPU:3',
    '/job:worker/replica:0/task:1/device:GPU:0',
  ]);
  const message =
    'devices must belong to this worker, /job:worker/replica:0/task:1, but /job:worker/replica:0/task:0/device:CPU:3 belongs';
  expect(() => ownDevices(['cpu:0', '/job:worker/task:0/cpu:3'], info)).toThrow(
    expect.objectContaining({ code: 'ERR_COLL_DEVICE', message: expect.stringContaining(message) }),
  );
  expect(ownDevices(['cpu:3'], alone)).toEqual(['/job:localhost/replica:0/task:0/device:CPU:3']);
  expect(() => ownDevices(['/job:worker/task:0/cpu:3'], alone)).toThrow('belongs to another worker');
});
