import { expect, it } from 'vitest';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import { definePlugin, pluginApiVersion } from './plugin.js';

const plugin = { name: 'mine', module: 'file:///mine.js', create: () => ({}) as CrossDeviceOps };

it('definePlugin sets the API version and the lowest portable priority by default', () => {
  expect(definePlugin(plugin)).toEqual({ ...plugin, apiVersion: pluginApiVersion, priority: 0 });
});

it('definePlugin keeps a given version and priority', () => {
  const fields = { apiVersion: 7, priority: 50, capabilities: { maxRanks: 2 } };
  expect(definePlugin({ ...plugin, ...fields })).toEqual({ ...plugin, ...fields });
});

it('definePlugin freezes its result, but not its argument', () => {
  expect(Object.isFrozen(definePlugin(plugin))).toBe(true);
  expect(Object.isFrozen(plugin)).toBe(false);
});
