import { directAlgorithm } from '@coll/direct';
import { expect, it } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import { JsCommunicator, jsEngine } from '../js/js-engine.js';
import type { ProcessGroup } from '../members/process-group.js';
import { UnavailableError } from '../support/errors.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { tensor } from '../values/tensor.js';
import { resolveEngine } from './engines.js';
import { portableWorld, processWorld, threadWorld } from './worlds.js';

const devices = ['cpu:0', 'cpu:1', 'cpu:2'];

it('a portable world contains all its devices as local ranks', () => {
  const world = portableWorld(devices, jsEngine);
  expect(world).toMatchObject({ devices, localRanks: [0, 1, 2], engine: 'js' });
  const communicator = world.communicator(directAlgorithm());
  expect(communicator).toBeInstanceOf(JsCommunicator);
  expect(communicator.size).toBe(3);
});

it('a world of threads contains one local device', async () => {
  const world = threadWorld(createThreadGroup({ size: 3, maxBytes: 2 ** 16 }), 2, devices);
  expect(world).toMatchObject({ devices, localRanks: [2], engine: 'js' });
  const communicator = world.communicator(directAlgorithm());
  expect(communicator).toBeInstanceOf(ThreadCommunicator);
  expect([communicator.size, communicator.localRanks]).toEqual([3, [2]]);
  await communicator.close();
});

it('a portable world uses the fastest available engine', () => {
  const { engine, candidates } = resolveEngine();
  expect(portableWorld(devices)).toMatchObject({ engine: engine.name, resolution: { engine, candidates } });
});

it('a world of threads uses the engine of its group and no other', () => {
  const group = jsEngine.createGroup({ size: 3, maxBytes: 2 ** 16 });
  expect(threadWorld(group, 0, devices).engine).toBe('js');
  const foreign = { ...group, engine: 'native' } as const;
  expect(thrown(() => threadWorld(foreign, 0, devices))).toMatchObject({ code: 'ERR_COLL_NO_ENGINE' });
});

it('fail() of one rank of a world of threads fails the collectives of all ranks with its message', async () => {
  const group = createThreadGroup({ size: 2, maxBytes: 2 ** 16 });
  const other = threadWorld(group, 0, devices.slice(1)).communicator(directAlgorithm());
  threadWorld(group, 1, devices.slice(1)).fail?.('rank 1 threw');
  const tensors = [tensor(new Float32Array(1))];
  expect(await rejection(other.run({ kind: 'all-reduce', op: 'sum' }, tensors, tensors))).toMatchObject({
    code: 'ERR_COLL_PEER_FAILED',
    rank: 1,
    message: expect.stringContaining('rank 1 threw'),
  });
});

it('a world of processes returns the failure of its group if the group has a failure method', () => {
  const failure = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 0 is gone');
  const group = { rank: 1, size: 3, communicator: () => {}, fail: () => {} };
  const talkative = { ...group, failure: () => failure };
  expect(processWorld(talkative as unknown as ProcessGroup, devices).failure?.()).toBe(failure);
  expect(processWorld(group as unknown as ProcessGroup, devices).failure?.()).toBeUndefined();
});

it('a world of processes contains one local device', () => {
  const communicator = { size: 3 };
  const failed: Error[] = [];
  const group = { rank: 1, size: 3, communicator: () => communicator, fail: (error: Error) => failed.push(error) };
  const world = processWorld(group as unknown as ProcessGroup, devices);
  expect(world).toMatchObject({ devices, localRanks: [1], engine: 'native' });
  expect(world.communicator(directAlgorithm())).toBe(communicator);
  world.fail?.('rank 1 threw');
  expect(failed).toMatchObject([{ code: 'ERR_COLL_PEER_FAILED', message: 'rank 1 threw' }]);
  expect(thrown(() => processWorld(group as unknown as ProcessGroup, ['cpu:0']))).toMatchObject({
    code: 'ERR_COLL_DEVICE',
  });
});
