import { directAlgorithm } from '@coll/direct';
import { expect, it } from 'vitest';
import { PortableCommunicator } from './portable/portable-communicator.js';
import { ThreadCommunicator } from './threads/thread-communicator.js';
import { createThreadGroup } from './threads/thread-group.js';
import { portableWorld, threadWorld } from './worlds.js';

const devices = ['cpu:0', 'cpu:1', 'cpu:2'];

it('holds all devices of a portable world', () => {
  const world = portableWorld(devices);
  expect(world).toMatchObject({ devices, localRanks: [0, 1, 2], engine: 'portable' });
  const communicator = world.communicator(directAlgorithm);
  expect(communicator).toBeInstanceOf(PortableCommunicator);
  expect(communicator.size).toBe(3);
});

it('holds one device of a world of threads', async () => {
  const world = threadWorld(createThreadGroup({ size: 3, maxBytes: 2 ** 16 }), 2, devices);
  expect(world).toMatchObject({ devices, localRanks: [2], engine: 'threads' });
  const communicator = world.communicator(directAlgorithm);
  expect(communicator).toBeInstanceOf(ThreadCommunicator);
  expect([communicator.size, communicator.localRanks]).toEqual([3, [2]]);
  await communicator.close();
});
