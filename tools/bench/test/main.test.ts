import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { algorithmNames } from '../src/algorithms.js';
import type { Row } from '../src/report/row.js';
import { engines, inputKinds } from '../src/trial.js';

const root = path.resolve(import.meta.dirname, '../../..');
const limit = { timeout: 60_000 };

async function bench(...args: string[]) {
  const program = ['--import', 'tsx', '--conditions=@coll/source', 'tools/bench/src/main.ts', ...args];
  const child = spawn(process.execPath, program, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [code, output, errors] = await Promise.all([
    new Promise((resolve) => {
      child.once('close', resolve);
    }),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, output, errors };
}

async function rowsOf(...args: string[]): Promise<Row[]> {
  const { code, output, errors } = await bench('--quick', '--json', ...args);
  expect(code, errors).toBe(0);
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function expectSane(rows: readonly Row[]): void {
  for (const row of rows) {
    expect(row.minMicros).toBeGreaterThan(0);
    expect(row.medianMicros).toBeGreaterThanOrEqual(row.minMicros);
    expect(row.p95Micros).toBeGreaterThanOrEqual(row.medianMicros);
    expect(row.algGBs).toBeCloseTo(row.bytes / row.medianMicros / 1e3, 3);
    expect(row.copyRatio).toBeCloseTo(row.medianMicros / row.copyMicros, -2);
    expect(row.samples).toBeGreaterThanOrEqual(2);
    expect(row).toMatchObject({ ranks: 2, cpus: expect.any(Number), cpu: expect.any(String) });
    expect(row.node).toBe(process.versions.node);
    expect(Date.parse(row.date)).toBeGreaterThan(0);
    expect(row).not.toHaveProperty('peer');
  }
}

it('measures every algorithm and engine with both kinds of input', limit, async () => {
  const rows = await rowsOf('--suite', 'in-process', '--bytes', '4,1KiB');
  const cases = rows.map((row) => `${row.algorithm} ${row.input} ${row.engine} ${row.bytes}`);
  const expected = [4, 1024].flatMap((bytes) =>
    inputKinds.flatMap((input) =>
      engines.flatMap((engine) => algorithmNames.map((algorithm) => `${algorithm} ${input} ${engine} ${bytes}`)),
    ),
  );
  expect(cases).toEqual(expected);
  expect(rows.every((row) => row.suite === 'in-process' && row.case === `${row.algorithm} ${row.input}`)).toBe(true);
  expectSane(rows);
});

it('measures strategies and the other collectives', limit, async () => {
  const rows = await rowsOf('--suite', 'strategy,collectives', '--bytes', '1KiB', '--algorithms', 'direct');
  expectSane(rows);
  const cases = rows.filter(({ engine }) => engine === 'threads-sync').map((row) => row.case);
  expect(cases).toEqual([
    'allReduceSync direct',
    'reduce direct',
    'broadcast direct',
    'all-gather direct',
    'reduce-scatter direct',
  ]);
  const gather = rows.find((row) => row.case === 'all-gather direct') as Row;
  expect(gather.busGBs).toBeCloseTo(gather.algGBs / 2, 3);
});

it('refuses what it does not know in one line', limit, async () => {
  const line = 'no suite is called "nope"; there are in-process, strategy, collectives, packing\n';
  expect(await bench('--suite', 'nope')).toEqual({ code: 2, output: '', errors: line });
});

it('explains itself', limit, async () => {
  const { code, output } = await bench('--help');
  expect(code).toBe(0);
  for (const option of ['--quick', '--suite', '--ranks', '--bytes', '--engines', '--peers', '--json', '--markdown'])
    expect(output).toContain(option);
});
