import { CollError } from '@coll/core';
import { createThreadGroup } from '@coll/core/plugin';
import { expect, it } from 'vitest';
import { loadPlugin, openPluginEnvironment } from './plugin-environment.js';

const moduleOf = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

it.each([
  ['null', 'export const before = null; export const found = { name: "mine", create() {} };'],
  ['undefined', 'export const before = undefined; export const found = { name: "mine", create() {} };'],
  [
    'other plug-ins',
    'export const other = { name: "other", create() {} }; export const f = { name: "mine", create() {} };',
  ],
  [
    'other objects with the same name',
    'export const a = { name: "mine" }; export const found = { name: "mine", create() {} };',
  ],
  [
    'a function with that name',
    'export function mine() {} mine.create = 1; export const z = { name: "mine", create() {} };',
  ],
])('pluginOf finds the plug-in of a module that also exports %s', async (_, code) => {
  expect(await loadPlugin({ name: 'mine', module: moduleOf(code), options: undefined })).toEqual({
    name: 'mine',
    create: expect.any(Function),
  });
});

it('pluginOf refuses a module without a plug-in of the given name', async () => {
  const module = moduleOf('export const other = { name: "other", create() {} }; export const mine = { name: "mine" };');
  const loading = loadPlugin({ name: 'mine', module, options: undefined });
  await expect(loading).rejects.toBeInstanceOf(CollError);
  await expect(loading).rejects.toMatchObject({
    code: 'ERR_COLL_MODULE',
    message: expect.stringContaining(
      'exports no plug-in called "mine"; the module of a plug-in must be the module that exports it',
    ),
  });
});

it('a plug-in module creates ops and a strategy with its options, and closes both', async () => {
  const module = moduleOf(
    'export const closed = []; export const own = { name: "own", apiVersion: 1, priority: 0, module: "file:///own.js", ' +
      'create: (options, world) => ({ options, world, close: async () => closed.push(options) }) };',
  );
  const options = { numPacks: 3 };
  const devices = ['/job:localhost/replica:0/task:0/device:CPU:0'];
  const setup = { plugin: { name: 'own', module, options } };
  const endRequests = new Int32Array(new SharedArrayBuffer(12));
  const start = { replica: 0, firstReplica: 0, devices, group: createThreadGroup({ size: 1 }), setup, endRequests };
  const environment = await openPluginEnvironment(start, setup);
  expect(environment.ops).toMatchObject({ options, world: { devices } });
  expect(environment.strategy.extended.workerDevices).toEqual(devices);
  expect(environment.fail).toBeUndefined();
  const ofStrategy = await environment.strategy.extended.replicaOps();
  expect(ofStrategy).toMatchObject({ options });
  expect(ofStrategy).not.toBe(environment.ops);
  await environment[Symbol.asyncDispose]();
  expect(((await import(module)) as { closed: unknown[] }).closed).toEqual([options, options]);
});
