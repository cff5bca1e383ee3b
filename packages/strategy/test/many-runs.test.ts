import { getEventListeners } from 'node:events';
import { PerReplica } from '@coll/core';
import { ring } from '@coll/ring';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';

const module = new URL('./fixtures/asks.mjs', import.meta.url);
const strategyOf = (replicas: number) =>
  new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'].slice(0, replicas), crossDeviceOps: ring });

/** What would keep this process alive, but for the tests' own pipes and timers. */
const alive = () => process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort|Immediate/.test(name)).length;

describe('many runs in threads', () => {
  it('leave nothing behind if they run one after the other', async () => {
    const strategy = strategyOf(1);
    const before = alive();
    const { signal } = new AbortController();
    for (let run = 0; run < 12; run++) expect(await strategy.run(module, { signal })).toBe(1);
    await expect.poll(alive).toBeLessThanOrEqual(before);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('keep their collectives and reports separate if they overlap', async () => {
    const strategy = strategyOf(2);
    const before = alive();
    const reports = [new Set(), new Set()];
    const runs = [10, 20].map((value, index) =>
      strategy.run(module, {
        exportName: 'adds',
        args: [new PerReplica([value, value + 1])],
        onReport: (_, report) => reports[index]?.add(report),
      }),
    );
    expect(await Promise.all(runs)).toEqual([new PerReplica([21, 21]), new PerReplica([41, 41])]);
    expect(reports).toEqual([new Set([10, 11]), new Set([20, 21])]);
    await expect.poll(alive).toBeLessThanOrEqual(before);
  });

  it('continue after a failed run', async () => {
    const strategy = strategyOf(2);
    await expect(strategy.run(module, { exportName: 'nothing' })).rejects.toMatchObject({ code: 'ERR_COLL_MODULE' });
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
  });
});
