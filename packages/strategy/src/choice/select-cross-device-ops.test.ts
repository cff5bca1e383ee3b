import { createRegistry, definePlugin, type ProbeResult, type Registry, type Situation, setLogSink } from '@coll/core';
import { direct } from '@coll/direct';
import { ReductionToOneDevice, reductionToOne } from '@coll/reduction-to-one';
import { ring } from '@coll/ring';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { chooseTheBest, selectCrossDeviceOps, selectPlugin } from './select-cross-device-ops.js';

const gpus = ['gpu:0', 'gpu:1'];
const full = (device: string) => `/job:localhost/replica:0/task:0/device:${device}`;

/** A test double of the nccl plug-in, which finds two GPUs and uses reduction to one device. */
function ncclDouble(probe: (situation: Situation) => ProbeResult = twoGpus) {
  const create = vi.fn(() => new ReductionToOneDevice());
  const capabilities = { devices: ['GPU'] };
  return { create, plugin: definePlugin({ name: 'nccl', module: 'file:///double.js', capabilities, probe, create }) };
}

function twoGpus({ devices }: Situation): ProbeResult {
  const missing = devices.find((device) => !/GPU:[01]$/.test(device));
  return missing === undefined ? { available: true } : { available: false, reason: `there is no ${missing}` };
}

function registryOf(...plugins: readonly Parameters<Registry['register']>[0][]): Registry {
  const made = createRegistry();
  for (const plugin of plugins) made.register(plugin as never);
  return made;
}

const lines: string[] = [];
beforeEach(() => setLogSink((level, line) => lines.push(`${level} ${line}`)));
afterEach(() => {
  lines.length = 0;
  setLogSink();
});

describe('selectPlugin', () => {
  it('chooses nccl with one pack if it supports all devices', async () => {
    const nccl = ncclDouble();
    const registry = registryOf(direct, nccl.plugin as never, ring, reductionToOne);
    const { plugin, options, candidates } = await selectPlugin(gpus, { registry });
    expect([plugin.name, options]).toEqual(['nccl', { numPacks: 1 }]);
    const onlyTwo =
      "not asked, because this selection considers only nccl and reduction-to-one; 'auto' considers all plug-ins";
    expect(candidates).toEqual([
      { name: 'direct', priority: 60, reason: onlyTwo },
      { name: 'ring', priority: 40, reason: onlyTwo },
      { name: 'reduction-to-one', priority: 10, reason: 'not asked, because nccl supports these devices' },
      { name: 'nccl', priority: 0, reason: 'chosen, because all devices are GPUs, which it supports' },
    ]);
    expect(lines).toEqual([]);
  });

  it.each([
    [['cpu:0', 'cpu:1'], 'CPU:0'],
    [['gpu:0', 'cpu:1'], 'CPU:1'],
    [['/job:gpu/task:0/cpu:1'], '/job:gpu/replica:0/task:0/device:CPU:1'],
  ])('chooses reduction to one device for %j, which are not all GPUs', async (devices, odd) => {
    const { plugin, candidates } = await selectPlugin(devices, { registry: registryOf(ncclDouble().plugin as never) });
    const why = `${odd.startsWith('/') ? odd : full(odd)} is not a GPU`;
    expect(plugin).toBe(reductionToOne);
    expect(candidates).toEqual([
      { name: 'reduction-to-one', priority: 10, reason: `chosen, because ${why}` },
      { name: 'nccl', priority: 0, reason: `not asked, because ${why}` },
    ]);
    expect(lines).toEqual([`warn ${why}: using reduction-to-one instead of nccl`]);
  });

  it('falls back to reduction to one device if nccl refuses', async () => {
    const refused = 'libnccl.so.2 is missing';
    const { plugin } = ncclDouble(() => ({ available: false, reason: refused }));
    const found = await selectPlugin(gpus, { registry: registryOf(plugin as never), visibleDevices: gpus });
    expect(found.plugin).toBe(reductionToOne);
    expect(found.candidates.find(({ name }) => name === 'nccl')).toEqual({
      name: 'nccl',
      priority: 0,
      refused,
      reason: `refused, because ${refused}`,
    });
    expect(lines).toEqual([`warn nccl cannot be used: ${refused}: using reduction-to-one instead of nccl`]);
  });

  it('falls back to reduction to one device and names the package if nccl is missing', async () => {
    const found = await selectPlugin(gpus, { registry: registryOf(direct), visibleDevices: gpus });
    const refused = "it is not registered: npm install @coll/nccl, then import '@coll/nccl/register'";
    expect(found.plugin).toBe(reductionToOne);
    expect(found.candidates[0]).toEqual({ name: 'nccl', priority: 0, refused, reason: `refused, because ${refused}` });
    expect(found.candidates.map(({ name }) => name)).toEqual(['nccl', 'direct', 'reduction-to-one']);
    expect(lines).toEqual([`warn nccl cannot be used: ${refused}: using reduction-to-one instead of nccl`]);
  });

  it.each([{ physicalGpus: 1 }, { physicalGpus: 2, visibleDevices: [...gpus, 'gpu:2'] }])(
    'falls back to reduction to one device for virtual GPUs: %j',
    async (inventory) => {
      const probe = vi.fn(twoGpus);
      const registry = registryOf(ncclDouble(probe).plugin as never);
      const { plugin, candidates } = await selectPlugin(gpus, { registry, ...inventory });
      expect(plugin).toBe(reductionToOne);
      expect(candidates.at(-1)?.reason).toMatch(
        /^not asked, because some of the \d GPUs are virtual, because the machine has \d/,
      );
      expect(lines).toEqual([expect.stringMatching(/^warn some of the \d GPUs are virtual.*using reduction-to-one/)]);
      expect(probe).not.toHaveBeenCalled();
    },
  );

  it('chooses nccl if the machine has as many GPUs as are visible', async () => {
    const registry = registryOf(ncclDouble().plugin as never);
    const inventory = { physicalGpus: 2, visibleDevices: ['cpu:0', ...gpus] };
    expect((await selectPlugin(gpus, { registry, ...inventory })).plugin.name).toBe('nccl');
  });

  it('warns about devices that are not visible, but accepts them', async () => {
    const registry = registryOf(ncclDouble(() => ({ available: true })).plugin as never);
    const { plugin } = await selectPlugin(gpus, { registry, visibleDevices: ['cpu:0', 'gpu:1'] });
    expect(plugin.name).toBe('nccl');
    expect(lines).toEqual([`warn some of the devices are not visible to this process: ${full('GPU:0')}`]);
  });

  it('asks GPU plug-ins which GPUs are visible if visibleDevices is not given', async () => {
    await selectPlugin([...gpus, 'gpu:7'], { registry: registryOf(ring, ncclDouble().plugin as never) });
    expect(lines[0]).toBe(`warn some of the devices are not visible to this process: ${full('GPU:7')}`);
    expect(lines[1]).toContain(`: there is no ${full('GPU:7')}`);
  });

  it('logs each message once', async () => {
    for (let time = 0; time < 3; time++) await selectPlugin(['cpu:0'], { registry: createRegistry() });
    expect(lines).toHaveLength(1);
  });

  it.each([undefined, [], 'gpu:0', [0], null])('refuses %o as devices', async (devices) => {
    await expect(selectPlugin(devices as never)).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_DEVICE',
      message: expect.stringContaining("devices must be a list such as ['gpu:0', 'gpu:1'], got"),
    });
  });

  it.each([-1, 0.5, '2'])('refuses %o as a number of GPUs', async (physicalGpus) => {
    await expect(selectPlugin(gpus, { physicalGpus: physicalGpus as never })).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });
});

describe('selectCrossDeviceOps', () => {
  it('creates the ops of the chosen plug-in, with one pack for nccl', async () => {
    const nccl = ncclDouble();
    const registry = registryOf(nccl.plugin as never);
    expect(await selectCrossDeviceOps(gpus, { registry })).toBe(nccl.create.mock.results[0]?.value);
    expect(nccl.create.mock.calls).toEqual([[{ numPacks: 1 }]]);
    expect(await selectCrossDeviceOps(['cpu:0'], { registry })).toBeInstanceOf(ReductionToOneDevice);
  });

  it('has a deprecated alias, which warns once', async () => {
    const registry = createRegistry();
    for (let time = 0; time < 2; time++)
      expect(await chooseTheBest(['cpu:0'], { registry })).toBeInstanceOf(ReductionToOneDevice);
    expect(lines.filter((line) => line.includes('deprecated'))).toEqual([
      'warn chooseTheBest is deprecated; use selectCrossDeviceOps instead',
    ]);
  });
});
