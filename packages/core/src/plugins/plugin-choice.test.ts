import { describe, expect, it, vi } from 'vitest';
import { rejection } from '../../test/thrown.js';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import type { Plugin, Situation } from './plugin.js';
import { createRegistry, type Registry } from './registry.js';

const ops = { name: 'made' } as CrossDeviceOps;
const cpus: Situation = { devices: ['cpu:0', 'cpu:1'] };
const taken = 'chosen, because it has the highest priority of the plug-ins that support these devices';

function plugin(name: string, fields: Partial<Plugin> = {}): Plugin {
  return { name, apiVersion: 1, module: `file:///${name}.js`, priority: 0, create: () => ops, ...fields } as Plugin;
}

function registryOf(...plugins: readonly Plugin[]): Registry {
  const made = createRegistry();
  for (const one of plugins) made.register(one);
  return made;
}

describe("resolve('auto') of a registry", () => {
  const refusing = (reason: string, fields: Partial<Plugin> = {}) =>
    plugin('refusing', { priority: 9, probe: () => ({ available: false, reason }), ...fields });

  it('chooses the accepting plug-in with the highest priority, and records every refusal', async () => {
    const last = plugin('last', { priority: 1, probe: vi.fn() });
    const known = registryOf(last, plugin('good', { priority: 5 }), refusing('no driver'));
    expect(await known.resolve('auto', cpus)).toMatchObject({
      plugin: { name: 'good' },
      candidates: [
        { name: 'refusing', priority: 9, refused: 'no driver', reason: 'refused, because no driver' },
        { name: 'good', priority: 5, reason: taken },
        {
          name: 'last',
          priority: 1,
          reason: 'not asked, because good, of a higher priority, supports these devices',
        },
      ],
    });
    expect(last.probe).not.toHaveBeenCalled();
  });

  it('chooses the first by name among plug-ins of the same priority', async () => {
    const { candidates } = await registryOf(plugin('b'), plugin('a')).resolve('auto', cpus);
    expect(candidates.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([
      `a: ${taken}`,
      'b: not asked, because a, of the same priority and first by name, supports these devices',
    ]);
  });

  it('does not choose a plug-in that refuses without a reason', async () => {
    const { plugin: found } = await registryOf(refusing(''), plugin('good')).resolve('auto', cpus);
    expect(found.name).toBe('good');
  });

  it('passes devices, dtypes and ops of the request to probes, which may be asynchronous', async () => {
    const probe = vi.fn(async () => ({ available: true }) as const);
    const situation: Situation = { ...cpus, dtypes: ['float16'], ops: ['MEAN'], isolated: true };
    await registryOf(plugin('slow', { probe })).resolve('auto', situation);
    expect(probe.mock.calls).toEqual([[situation]]);
  });

  it('returns the options of the request with the plug-in', async () => {
    expect((await registryOf(plugin('one')).resolve({ name: 'auto', options: 3 }, cpus)).options).toBe(3);
  });

  it.each<readonly [Partial<Plugin>, Situation, string]>([
    [{ capabilities: { devices: ['GPU'] } }, cpus, 'it supports GPU devices, not cpu:0'],
    [{ capabilities: { dtypes: ['float32'] } }, { ...cpus, dtypes: ['float32', 'int8'] }, 'it does not support int8'],
    [{ capabilities: { ops: ['SUM'] } }, { ...cpus, ops: ['SUM', 'MAX'] }, 'it does not support MAX'],
    [{ capabilities: { maxRanks: 1 } }, cpus, 'it supports up to 1 ranks, not 2'],
  ])(
    'refuses a plug-in without the required capabilities before its probe is called: %j',
    async (fields, situation, refused) => {
      const probe = vi.fn();
      const known = registryOf(refusing('', { ...fields, probe }), plugin('good'));
      const { plugin: found, candidates } = await known.resolve('auto', situation);
      expect([found.name, candidates[0]?.refused]).toEqual(['good', refused]);
      expect(probe).not.toHaveBeenCalled();
    },
  );

  it('treats capabilities that a plug-in does not list as unlimited, and missing requirements as none', async () => {
    const able = plugin('able', { capabilities: { devices: ['CPU'], dtypes: ['int8'], ops: ['SUM'], maxRanks: 2 } });
    expect((await registryOf(able).resolve('auto', cpus)).plugin.name).toBe('able');
    const wishes: Situation = { devices: ['gpu:0'], dtypes: ['bool'], ops: ['PRODUCT'] };
    expect((await registryOf(plugin('any', { capabilities: {} })).resolve('auto', wishes)).plugin.name).toBe('any');
  });

  it('treats a plug-in whose probe throws as one that refuses', async () => {
    const probe = () => Promise.reject(new Error('libcuda.so is missing'));
    const known = registryOf(refusing('', { probe }), plugin('good'));
    const { plugin: found, candidates } = await known.resolve('auto', cpus);
    expect([found.name, candidates[0]?.refused]).toEqual(['good', 'its probe failed: libcuda.so is missing']);
  });

  it('reports every refusal if no plug-in accepts', async () => {
    const known = registryOf(refusing('no driver'), plugin('gpu', { capabilities: { devices: ['GPU'] } }));
    expect(await rejection(known.resolve('auto', cpus))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_NO_PLUGIN',
      message: 'no plug-in supports cpu:0, cpu:1: refusing: no driver; gpu: it supports GPU devices, not cpu:0',
    });
  });

  it('reports that no plug-in is registered', async () => {
    expect(await rejection(createRegistry().resolve('auto'))).toMatchObject({
      code: 'ERR_COLL_NO_PLUGIN',
      message: expect.stringContaining("none is registered; import one, for example '@coll/ring/register'"),
    });
  });
});

describe('explain() of a registry', () => {
  const known = registryOf(plugin('good'), plugin('gpu', { priority: 9, capabilities: { devices: ['GPU'] } }));
  const refused = 'it supports GPU devices, not cpu:0';
  const gpu = { name: 'gpu', priority: 9, refused, reason: `refused, because ${refused}` };

  it("reports which plug-in 'auto' chooses, and why not the others", async () => {
    const good = { name: 'good', priority: 0, reason: taken };
    expect(await known.explain('auto', cpus)).toEqual({ chosen: 'good', candidates: [gpu, good] });
  });

  it('reports only the candidates if no plug-in accepts', async () => {
    const only = registryOf(known.get('gpu') as unknown as Plugin);
    expect(await only.explain('auto', cpus)).toEqual({ candidates: [gpu] });
  });

  it('reports that a requested plug-in is chosen, or refuses', async () => {
    const good = { name: 'good', priority: 0, reason: 'chosen, because it was requested' };
    expect(await known.explain('good')).toEqual({ chosen: 'good', candidates: [good] });
    expect(await known.explain('gpu', cpus)).toEqual({ candidates: [gpu] });
  });

  it('refuses a value that is not a plug-in', async () => {
    expect(await rejection(known.explain({ name: 'one', create: () => ops } as never))).toMatchObject({
      code: 'ERR_COLL_PLUGIN',
    });
  });
});
