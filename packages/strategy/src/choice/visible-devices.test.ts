import { createRegistry, definePlugin, setLogSink } from '@coll/core';
import { ring } from '@coll/ring';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Strategy } from '../scope/strategy.js';
import { MirroredStrategy } from '../strategies/mirrored-strategy.js';
import { MultiWorkerMirroredStrategy } from '../workers/multi-worker-mirrored-strategy.js';
import { virtualGpus } from './visible-devices.js';
import { withFallback } from './with-fallback.js';

const sink = vi.fn();
const warnings = () => sink.mock.calls.filter(([level]) => level === 'warn').map(([, line]) => line);
const gpus = ['gpu:0', 'gpu:1'];
const named = gpus.map((_, index) => `/job:localhost/replica:0/task:0/device:GPU:${index}`).join(', ');
const message = `no registered plug-in supports ${named}, so their values are combined on the CPU`;
const advice = "to use the CPU, pass CPU devices: devices: ['cpu:0', 'cpu:1']";
const install = "for NVIDIA GPUs run npm install @coll/nccl and import '@coll/nccl/register'";

beforeEach(() => setLogSink(sink));
afterEach(() => {
  setLogSink();
  sink.mockClear();
});

async function trained(strategy: Strategy) {
  for (let step = 0; step < 2; step++)
    await strategy.run(async (replica) => replica.allReduce('sum', Float32Array.of(1)));
}

it('a strategy warns once about GPUs that no plug-in supports, and says what to do', async () => {
  await using mirrored = new MirroredStrategy({ devices: gpus, registry: createRegistry() });
  await trained(mirrored);
  expect(warnings()).toEqual([`${message}; ${install}; ${advice}`]);
});

it('a multi-worker strategy warns about GPUs that no plug-in supports', async () => {
  await using strategy = new MultiWorkerMirroredStrategy({ devices: gpus });
  await trained(strategy);
  expect(warnings()).toEqual([`${message}; ${install}; ${advice}`]);
});

it('the warning says why nccl refused GPUs, even if another plug-in was requested', async () => {
  const registry = createRegistry();
  const probe = () => ({ available: false, reason: 'there is no driver' }) as const;
  registry.register(definePlugin({ ...ring, name: 'nccl', capabilities: { devices: ['GPU'] }, probe }));
  registry.register(ring);
  await using strategy = new MirroredStrategy({ devices: gpus, registry, crossDeviceOps: 'ring' });
  await trained(strategy);
  expect(warnings()).toEqual([`${message}; nccl refused: there is no driver; ${advice}`]);
});

it('a strategy does not warn about CPUs, or GPUs that a plug-in supports', async () => {
  const registry = createRegistry();
  registry.register(definePlugin({ ...ring, name: 'nccl', capabilities: { devices: ['GPU'] } }));
  await using onGpus = new MirroredStrategy({ devices: gpus, registry });
  await using onCpus = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], registry: createRegistry() });
  for (const strategy of [onGpus, onCpus]) await trained(strategy);
  expect(warnings()).toEqual([]);
});

describe('virtualGpus', () => {
  const gpus = ['gpu:0', 'gpu:1', 'cpu:0'];

  it.each([
    [undefined, undefined],
    [2, undefined],
    [1, 'some of the 2 GPUs are virtual, because the machine has 1'],
    [0, 'some of the 2 GPUs are virtual, because the machine has 0'],
  ])('returns, for two GPU devices and %s physical GPUs, %s', (physicalGpus, message) => {
    expect(virtualGpus(gpus, physicalGpus === undefined ? {} : { physicalGpus })).toBe(message);
  });

  it('counts only visible GPUs against the physical GPUs if visibleDevices is given', () => {
    expect(virtualGpus(gpus, { physicalGpus: 1, visibleDevices: ['gpu:0'] })).toBeUndefined();
  });

  it.each([-1, 0.5, '2', null])('refuses %j as a number of GPUs', (physicalGpus) => {
    expect(() => virtualGpus(gpus, { physicalGpus: physicalGpus as number })).toThrow(
      `physicalGpus must be a number of GPUs, got ${JSON.stringify(physicalGpus)}`,
    );
  });
});

it('withFallback returns the same registry if it already has a fallback', () => {
  const registry = createRegistry();
  const extended = withFallback(registry);
  expect(extended).not.toBe(registry);
  expect(extended.list().map(({ name }) => name)).toEqual(['reduction-to-one']);
  expect(withFallback(extended)).toBe(extended);
});
