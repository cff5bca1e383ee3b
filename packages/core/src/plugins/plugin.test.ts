import { expect, it } from 'vitest';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import { definePlugin, pluginApiVersion } from './plugin.js';

const plugin = { name: 'mine', module: 'file:///mine.js', create: () => ({}) as CrossDeviceOps };

it('fills in the version of the contract and the lowest priority of the portable ones', () => {
  expect(definePlugin(plugin)).toEqual({ ...plugin, apiVersion: pluginApiVersion, priority: 0 });
});

it('keeps version and priority that are given', () => {
  const fields = { apiVersion: 7, priority: 50, capabilities: { maxRanks: 2 } };
  expect(definePlugin({ ...plugin, ...fields })).toEqual({ ...plugin, ...fields });
});

it('freezes what it makes, and not what it was made of', () => {
  expect(Object.isFrozen(definePlugin(plugin))).toBe(true);
  expect(Object.isFrozen(plugin)).toBe(false);
});
