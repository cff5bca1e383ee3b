import { setLogSink } from '@coll/core';
import { MirroredStrategy, MultiWorkerMirroredStrategy } from '@coll/strategy';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const module = new URL('./fixtures/late-replica.mjs', import.meta.url);
const devices = ['cpu:0', 'cpu:1', 'cpu:2'];

let lines: string[];
beforeEach(() => {
  lines = [];
  setLogSink((level, message) => lines.push(`${level}: ${message}`));
  vi.stubEnv('COLL_STALL_SECONDS', '0.2');
  vi.stubEnv('COLL_STALL_FILE', '');
});
afterEach(() => {
  setLogSink();
  vi.unstubAllEnvs();
});

describe.each(['native', 'js'] as const)('threads of a strategy with the engine %s', (engine) => {
  it.each([
    ['allReduceSync', 'all-reduce sum'],
    ['allReduce', 'all-reduce sum'],
    ['mergeCall', 'mergeCall'],
  ])('log that replicas wait in %s, twice as the time doubles, and the end of the wait', async (how, operation) => {
    await using strategy = new MirroredStrategy({ devices, engine });
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const run = strategy.run(module, { args: [how, flag] });
    const pattern = new RegExp(
      `^warn: stalled: replicas 0, 1 in ${operation} for \\d+ seconds?, replica 2 has not arrived$`,
    );
    const logged = () => lines.filter((line) => pattern.test(line)).length;
    await expect.poll(logged, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(2);
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
    expect(strategy.experimentalLocalResults(await run)).toEqual([3, 3, 3]);
    expect(lines).toContain('warn: no longer stalled: all replicas have resumed');
  });
});

it.each([
  ['MirroredStrategy', 0, MirroredStrategy, '1, 2'],
  ['MultiWorkerMirroredStrategy', 0, MultiWorkerMirroredStrategy, '1, 2'],
  ['MultiWorkerMirroredStrategy', 2, MultiWorkerMirroredStrategy, '0, 1'],
] as const)('threads of a %s log that replica %i is late', async (_, late, Kind, waiting) => {
  await using strategy = new Kind({ devices });
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const run = strategy.run(module, { args: ['allReduceSync', flag, late] });
  const stalled = `warn: stalled: replicas ${waiting} in all-reduce sum for `;
  const logged = () => lines.find((line) => line.startsWith(stalled));
  await expect.poll(logged, { timeout: 60_000, interval: 20 }).toContain(`, replica ${late} has not arrived`);
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
  expect(strategy.experimentalLocalResults(await run)).toEqual([3, 3, 3]);
});

it('an invalid COLL_STALL_SECONDS fails a run of a module before it begins', async () => {
  vi.stubEnv('COLL_STALL_SECONDS', 'soon');
  await using strategy = new MirroredStrategy({ devices });
  await expect(strategy.run(module)).rejects.toThrow(/^COLL_STALL_SECONDS must be a number/);
});
