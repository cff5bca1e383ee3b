import { definePlugin, type Plugin } from '@coll/core';
import { ReductionToOneDevice, reductionToOne } from '@coll/reduction-to-one';
import { crossDeviceOpsSuite } from '@coll/testing';
import { describe, expect, it } from 'vitest';
import { brokenOps } from './doubles/broken-ops.ts';
import { brokenSparseOps } from './doubles/broken-sparse-ops.ts';
import { failuresOf } from './failures-of.ts';

describe('the cross-device ops suite', () => {
  it('accepts correct ops', async () => {
    const declare: Parameters<typeof failuresOf>[0] = (test) =>
      crossDeviceOpsSuite({ test, name: 'right', create: (_, world) => new ReductionToOneDevice({}, world) });
    expect(await failuresOf(declare)).toEqual([]);
  });

  it.each([...brokenOps, ...brokenSparseOps])('detects the broken ops %o', async (Double, only) => {
    const declare: Parameters<typeof failuresOf>[0] = (test) =>
      crossDeviceOpsSuite({ test, name: 'double', create: (_, world) => new Double({}, world) });
    expect(await failuresOf(declare, only)).not.toEqual([]);
  });

  const ofPlugin = (changes: Partial<Plugin<object>>, only: RegExp) =>
    failuresOf((test) => {
      crossDeviceOpsSuite({ test, plugin: definePlugin({ ...reductionToOne, ...changes }) as Plugin<object> });
    }, only);

  it('detects a plug-in that its module does not export', async () => {
    const [failure] = await ofPlugin({ name: 'impostor' }, /loaded from its module/);
    expect(failure).toContain('exports no plug-in called impostor');
  });

  it('detects a plug-in that refuses the tested devices', async () => {
    const [failure] = await ofPlugin({ capabilities: { maxRanks: 2 } }, /accepts the situations/);
    expect(failure).toContain('it supports up to 2 ranks, not 3');
  });

  it('detects a plug-in with another API version', async () => {
    const [failure] = await ofPlugin({ apiVersion: 0 }, /the shape of a plug-in/);
    expect(failure).toContain('the plug-in must have the current API version');
  });
});
