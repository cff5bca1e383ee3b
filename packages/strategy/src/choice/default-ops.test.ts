import { createRegistry, definePlugin, type LogLevel, setLogSink } from '@coll/core';
import { direct } from '@coll/direct';
import { RingAllReduce, ring } from '@coll/ring';
import { expect, it, vi } from 'vitest';
import { MirroredStrategy } from '../strategies/mirrored-strategy.js';

const registry = createRegistry();
registry.register(ring);
registry.register(direct);
const mixed = ['cpu:0', 'gpu:0'];

async function messagesOf(options: ConstructorParameters<typeof MirroredStrategy>[0]): Promise<readonly string[]> {
  const { name, candidates } = await new MirroredStrategy({ registry, ...options }).explain();
  return [name, ...candidates.map((candidate) => `${candidate.name}: ${candidate.reason}`)];
}

it.each([['cpu:0', 'cpu:1'], ['gpu:0', 'gpu:1'], ['cpu:3']])(
  'resolveOps chooses the plug-in with the highest priority for the devices %s and %s',
  async (...devices) => {
    expect(await messagesOf({ devices })).toEqual([
      'direct',
      'direct: chosen, because it has the highest priority of the plug-ins that support these devices',
      'ring: not asked, because direct, of a higher priority, supports these devices',
      'reduction-to-one: not asked, because direct, of a higher priority, supports these devices',
    ]);
  },
);

it('resolveOps reduces on one device if devices have several types', async () => {
  const why = 'because devices of several types (CPU, GPU) are reduced on one device by default';
  expect(await messagesOf({ devices: mixed })).toEqual([
    'reduction-to-one',
    `direct: not asked, ${why}`,
    `ring: not asked, ${why}`,
    `reduction-to-one: taken, ${why}`,
  ]);
});

it("resolveOps uses the requested plug-in on any devices, also 'auto'", async () => {
  expect((await messagesOf({ devices: mixed, crossDeviceOps: 'auto' }))[0]).toBe('direct');
  expect(await messagesOf({ devices: mixed, crossDeviceOps: 'ring' })).toEqual([
    'ring',
    'ring: chosen, because it was requested',
  ]);
  expect(await messagesOf({ devices: mixed, crossDeviceOps: await ring.create(undefined) })).toEqual(['ring']);
});

it('resolveOps accepts devices of several tasks if the requested ops distinguish them', async () => {
  const devices = ['/job:worker/task:0/cpu:0', '/job:worker/task:1/cpu:0'];
  class Wide extends RingAllReduce {
    override get severalTasks(): boolean {
      return true;
    }
  }
  const wide = definePlugin({ ...ring, name: 'wide', capabilities: { severalTasks: true } });
  const known = createRegistry();
  known.register(wide);
  for (const crossDeviceOps of [new Wide(), wide, { name: wide, options: {} }, 'wide'] as const) {
    const strategy = new MirroredStrategy({ devices, crossDeviceOps, registry: known });
    const sums = await strategy.run((replica) => replica.allReduce('sum', replica.replicaIdInSyncGroup + 1));
    expect(strategy.experimentalLocalResults(sums)).toMatchObject([
      { data: Float64Array.of(3) },
      { data: Float64Array.of(3) },
    ]);
  }
  for (const crossDeviceOps of [undefined, 'auto', ring, new RingAllReduce()]) {
    const make = () =>
      new MirroredStrategy({ devices, registry: known, ...(crossDeviceOps ? { crossDeviceOps } : {}) });
    expect(make).toThrow(/must belong to one task/);
  }
});

it('a MirroredStrategy logs its devices when it is used', async () => {
  const sink = vi.fn<(level: LogLevel, message: string) => void>();
  setLogSink((level, message) => sink(level, message));
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
  expect(sink).not.toHaveBeenCalled();
  await strategy.run((replica) => replica.allReduce('sum', Float32Array.of(1)));
  setLogSink();
  const [first, second] = [0, 1].map((index) => `/job:localhost/replica:0/task:0/device:CPU:${index}`);
  const lines = sink.mock.calls.filter(([, message]) => message.startsWith('strategy opened'));
  expect(lines).toEqual([['info', expect.stringContaining(`; devices ${first}, ${second}; `)]]);
});
