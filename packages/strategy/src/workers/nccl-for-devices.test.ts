import { CommunicationOptions, definePlugin, registry } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forDevices, ncclFor } from './nccl-for-devices.js';

const [cpus, gpus, both] = [['cpu:0', 'cpu:1'], ['gpu:0'], ['cpu:0', 'gpu:0']];

afterEach(() => {
  vi.restoreAllMocks();
});

describe('forDevices', () => {
  const nccl = new CommunicationOptions({ implementation: 'NCCL', bytesPerPack: 3 });

  it('replaces NCCL by a ring if there are no GPUs', () => {
    expect(forDevices(nccl, cpus)).toMatchObject({ implementation: 'RING', bytesPerPack: 3 });
    expect([forDevices(nccl, gpus), forDevices(nccl, both)]).toEqual([nccl, nccl]);
    expect(forDevices(nccl, gpus)).toBe(nccl);
  });

  it.each(['AUTO', 'RING'] as const)('does not change the implementation %s', (implementation) => {
    const options = new CommunicationOptions({ implementation });
    for (const devices of [cpus, gpus, both]) expect(forDevices(options, devices)).toBe(options);
  });
});

describe('ncclFor', () => {
  /**
   * Mocks the shared registry as if a test double of nccl were registered. A real registration
   * could not be undone.
   */
  function registered(): void {
    const module = 'file:///double.js';
    const double = definePlugin({ name: 'nccl', module, create: () => new ReductionToOneDevice() });
    vi.spyOn(registry, 'has').mockImplementation((name) => name === 'nccl');
    vi.spyOn(registry, 'get').mockImplementation((name) => {
      if (name !== 'nccl') throw new Error(`there is no ${name}`);
      return double as never;
    });
  }

  it('returns the plug-in that threads with GPUs load', () => {
    registered();
    const plugin = { name: 'nccl', module: 'file:///double.js', options: undefined };
    expect([ncclFor(gpus), ncclFor(both), ncclFor(cpus)]).toEqual([plugin, plugin, undefined]);
  });

  it('returns undefined if NCCL is not registered', () => {
    vi.spyOn(registry, 'has').mockReturnValue(false);
    expect([ncclFor(gpus), ncclFor(cpus)]).toEqual([undefined, undefined]);
  });
});
