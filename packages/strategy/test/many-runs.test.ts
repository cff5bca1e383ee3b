import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PerReplica } from '@coll/core';
import { ring } from '@coll/ring';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';

const module = new URL('./fixtures/asks.mjs', import.meta.url);
const strategyOf = (replicas: number) =>
  new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'].slice(0, replicas), crossDeviceOps: ring });

/** What would keep this process alive, but for the tests' own pipes and timers. */
const alive = () => process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort|Immediate/.test(name)).length;

/** The lines that a program prints. */
async function linesOf(program: string, ...args: readonly string[]): Promise<readonly string[]> {
  const file = fileURLToPath(new URL(`./fixtures/${program}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, ...args, file]);
  return stdout.trim().split('\n');
}

describe('many runs in threads', () => {
  it('share their threads, which keep the state of their modules', async () => {
    await using strategy = strategyOf(2);
    const before = alive();
    const { signal } = new AbortController();
    const counts = [];
    for (let run = 1; run <= 12; run++) counts.push(await strategy.run(module, { exportName: 'counts', signal }));
    expect(counts).toEqual(Array.from({ length: 12 }, (_, run) => new PerReplica([run + 1, run + 1])));
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
    await expect.poll(alive).toBeLessThanOrEqual(before);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('can have variables that an earlier run created', async () => {
    await using strategy = strategyOf(2);
    const losses = [];
    for (let step = 0; step < 3; step++) losses.push(await strategy.run(module, { exportName: 'learns', args: [1] }));
    expect(losses).toEqual([2, 4, 6].map((sum) => new PerReplica([sum, sum])));
  });

  it('keep their collectives and reports separate if they overlap', async () => {
    await using strategy = strategyOf(2);
    const before = alive();
    const reports = [new Set(), new Set(), new Set()];
    const runs = [10, 20, 30].map((value, index) =>
      strategy.run(module, {
        exportName: 'adds',
        args: [new PerReplica([value, value + 1])],
        onReport: (_, report) => reports[index]?.add(report),
        // The last run does not wait for the others.
        threads: index === 2 ? 'own' : 'kept',
      }),
    );
    expect(await Promise.all(runs)).toEqual([21, 41, 61].map((sum) => new PerReplica([sum, sum])));
    expect(reports).toEqual([new Set([10, 11]), new Set([20, 21]), new Set([30, 31])]);
    await expect.poll(alive).toBeLessThanOrEqual(before);
  });

  it('have modules without state in threads of their own', async () => {
    await using strategy = strategyOf(1);
    const counts = [];
    for (const threads of ['kept', 'own', 'own', 'kept'] as const)
      counts.push(await strategy.run(module, { exportName: 'counts', threads }));
    expect(counts).toEqual([1, 1, 1, 2]);
  });

  it('continue after a failed run', async () => {
    await using strategy = strategyOf(2);
    await expect(strategy.run(module, { exportName: 'nothing' })).rejects.toMatchObject({ code: 'ERR_COLL_MODULE' });
    expect(await strategy.run(module)).toEqual(new PerReplica([3, 3]));
  });

  it('are refused after the strategy was closed', async () => {
    const strategy = strategyOf(1);
    expect(await strategy.run(module)).toBe(1);
    await strategy.close();
    await expect(strategy.run(module)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED', operation: 'run' });
  });
});

it('code that outlives a merge call in a thread belongs to the replica again', async () => {
  await using strategy = strategyOf(1);
  expect(await strategy.run(module, { exportName: 'belongs' })).toEqual([false, true]);
});

describe('the threads of a strategy', () => {
  it('have printed everything before a run returns', async () => {
    const lines = await linesOf('prints.mjs');
    expect(lines).toEqual([1, 2, 3].flatMap((run) => [`[0] thread ${run} ${'x'.repeat(100_000)}`, `main ${run}`]));
  });

  it('do not keep the process alive between runs', async () => {
    expect(await linesOf('unclosed.mjs')).toEqual(['ran']);
  });

  it('end if the strategy is collected without being closed', async () => {
    expect(await linesOf('collected.mjs', '--expose-gc')).toEqual(['ended']);
  });
});
