import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import { portableWorld } from '../engines/worlds.js';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import { definePlugin, type Plugin, type Situation } from './plugin.js';
import { createRegistry, type PluginRequest, Registry, registry } from './registry.js';

const ops = { name: 'made' } as CrossDeviceOps;
const cpus: Situation = { devices: ['cpu:0', 'cpu:1'] };

function plugin(name: string, fields: Partial<Plugin> = {}): Plugin {
  return { name, apiVersion: 1, module: `file:///${name}.js`, priority: 0, create: () => ops, ...fields } as Plugin;
}

function registryOf(...plugins: readonly Plugin[]): Registry {
  const made = createRegistry();
  for (const one of plugins) made.register(one);
  return made;
}

describe('register() of a registry', () => {
  it('registers a plug-in under its name', () => {
    const one = plugin('one');
    const known = registryOf(one);
    expect(['one', 'two', 'toString'].map((name) => known.has(name))).toEqual([true, false, false]);
    expect(known.get('one')).toBe(one);
  });

  it('accepts the same plug-in again, also as another object of the same module', () => {
    const known = registryOf(plugin('one'));
    const first = known.get('one');
    known.register(plugin('one'));
    expect(known.list()).toEqual([first]);
    expect(known.get('one')).toBe(first);
  });

  it('refuses a second plug-in with the same name, and names both modules', () => {
    const known = registryOf(plugin('one'));
    const second = plugin('one', { module: 'file:///other/one.js' });
    expect(thrown(() => known.register(second))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_DUPLICATE_PLUGIN',
      message: expect.stringMatching(/"one": file:\/\/\/one\.js is already registered, file:\/\/\/other\/one\.js has/),
    });
    expect(known.get('one').module).toBe('file:///one.js');
  });

  it.each([0, 2, '1', undefined])('refuses API version %o', (apiVersion) => {
    const known = createRegistry();
    expect(thrown(() => known.register(plugin('one', { apiVersion: apiVersion as never })))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_API_VERSION',
      message: expect.stringMatching(
        /^plug-in "one" \(file:\/\/\/one\.js\) uses version .* this @coll\/core uses version 1/,
      ),
    });
    expect(known.has('one')).toBe(false);
  });

  it.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'ring'],
    ['a class', class Ring {}],
    ['no name', { ...plugin('one'), name: undefined }],
    ['an empty name', plugin('')],
    ["the reserved name 'auto'", plugin('auto')],
    ['no create', { ...plugin('one'), create: undefined }],
    ['no module', { ...plugin('one'), module: undefined }],
    ['a priority that is not a number', { ...plugin('one'), priority: 'high' }],
  ])('refuses %s', (_, odd) => {
    expect(thrown(() => createRegistry().register(odd as Plugin))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_PLUGIN',
      message: expect.stringContaining('a plug-in must be { name, apiVersion, module, priority, create }'),
    });
  });
});

describe('get() of a registry', () => {
  it('lists the registered names if the name is unknown', () => {
    const known = registryOf(plugin('low'), plugin('high', { priority: 5 }));
    expect(thrown(() => known.get('other'))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_UNKNOWN_PLUGIN',
      message:
        'no plug-in called "other" is registered; registered: high, low. Import the module that registers it, or pass the plug-in object itself',
    });
  });

  it('reports that no plug-in is registered', () => {
    expect(() => createRegistry().get('other')).toThrow('registered: none.');
  });

  it.each(['ring', 'direct', 'reduction-to-one', 'hierarchical-copy', 'multi-worker', 'nccl', 'mpi'])(
    'throws an error that says how to install %s',
    (name) => {
      const message = `Install it: npm install @coll/${name}, then import '@coll/${name}/register'`;
      expect(() => createRegistry().get(name)).toThrow(message);
    },
  );
});

it('plugins() lists plug-ins by priority, then by name', () => {
  const known = registryOf(plugin('b'), plugin('c', { priority: 9 }), plugin('a'), plugin('d', { priority: -1 }));
  expect(known.list().map(({ name }) => name)).toEqual(['c', 'a', 'b', 'd']);
});

describe('resolve() of a registry', () => {
  const [one, two] = [plugin('one'), plugin('two')];
  const known = registryOf(one, two);
  const options = { numPacks: 2 };

  it.each<readonly [string, PluginRequest, Plugin, unknown]>([
    ['a name', 'one', one, undefined],
    ['a name with options', { name: 'two', options }, two, options],
    ['a plug-in', two, two, undefined],
    ['a plug-in with options', { name: one, options }, one, options],
    ['a plug-in that is not registered', plugin('three'), plugin('three'), undefined],
  ])('finds the plug-in for %s', async (_, request, found, foundOptions) => {
    const resolution = await known.resolve(request);
    expect(resolution.plugin.name).toBe(found.name);
    expect(resolution.options).toBe(foundOptions);
    const reason = 'chosen, because it was requested';
    expect(resolution.candidates).toEqual([{ name: found.name, priority: 0, reason }]);
  });

  it('prefers a plug-in object over a registered plug-in of the same name', async () => {
    const mine = plugin('one', { module: 'file:///mine.js' });
    expect((await known.resolve(mine)).plugin).toBe(mine);
  });

  it.each([undefined, null, 5, {}, []])('refuses the request %o', async (request) => {
    expect(await rejection(known.resolve(request as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining("a plug-in must be a name, a plug-in object, { name, options } or 'auto', got"),
    });
  });

  it('validates a plug-in object like registration does', async () => {
    expect(await rejection(known.resolve(plugin('x', { apiVersion: 7 })))).toMatchObject({
      code: 'ERR_COLL_API_VERSION',
    });
    expect(await rejection(known.resolve({ name: 5 } as never))).toMatchObject({ code: 'ERR_COLL_PLUGIN' });
  });

  it('throws if the requested plug-in refuses, instead of choosing another', async () => {
    const probe = async () => ({ available: false, reason: 'no driver' }) as const;
    const picky = registryOf(one, plugin('gpu', { probe }));
    expect(await rejection(picky.resolve('gpu', cpus))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_REFUSED',
      message: 'plug-in "gpu" cannot be used here: no driver',
    });
  });
});

describe('create() of a registry', () => {
  const create = vi.fn((_options?: unknown, _world?: unknown) => ops);
  const probe = vi.fn((_situation: Situation) => ({ available: true }) as const);
  const known = registryOf(plugin('one', { create, probe }));
  afterEach(() => vi.clearAllMocks());

  it('creates ops by name, with options', async () => {
    expect(await known.create('one', { numPacks: 1 })).toBe(ops);
    expect(create.mock.calls).toEqual([[{ numPacks: 1 }, undefined]]);
  });

  it('creates ops from a plug-in object, from a request, and for a world', async () => {
    const world = portableWorld(['cpu:0', 'cpu:1']);
    await known.create(plugin('two', { create }));
    await known.create({ name: 'one', options: 'those of the request' });
    await known.create('auto', undefined, world);
    expect(create.mock.calls).toEqual([
      [undefined, undefined],
      ['those of the request', undefined],
      [undefined, world],
    ]);
    expect(probe.mock.lastCall).toEqual([{ devices: ['cpu:0', 'cpu:1'] }]);
  });
});

describe('the global registry', () => {
  beforeEach(() => vi.resetModules());

  it('is shared by separately installed copies of the library', async () => {
    const other = await import('./registry.js');
    expect(other.Registry).not.toBe(Registry);
    expect(other.registry).toBe(registry);
    expect(createRegistry()).not.toBe(registry);
  });

  it('refuses the same plug-in from two installations of different versions', async () => {
    const other = await import('./registry.js');
    const name = 'installed-twice';
    registry.register(definePlugin({ name, module: 'file:///node_modules/x@1/index.js', create: () => ops }));
    const second = definePlugin({ name, module: 'file:///app/node_modules/x@2/index.js', create: () => ops });
    expect(thrown(() => other.registry.register(second))).toMatchObject({
      code: 'ERR_COLL_DUPLICATE_PLUGIN',
      message: expect.stringContaining('npm ls'),
    });
  });
});
