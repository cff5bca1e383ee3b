import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { collectiveKinds } from '@coll/core/plugin';
import { expect, it } from 'vitest';
import { engineNames, whyNot } from '../src/engines.js';
import { compileBound, isInstalled } from '../src/peers/build.js';
import type { Row } from '../src/report/row.js';
import { readRows } from '../src/report/write-report.js';
import { inputKinds, places } from '../src/trial.js';

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));

async function bench(...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
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

/** Rows hold five digits. */
function expectNear(figure: number | undefined, expected: number): void {
  expect((figure as number) / expected).toBeCloseTo(1, 3);
}

function expectSane(rows: readonly Row[]): void {
  for (const row of rows) {
    expect(row.minMicros).toBeGreaterThan(0);
    expect(row.medianMicros).toBeGreaterThanOrEqual(row.minMicros);
    expect(row.p95Micros).toBeGreaterThanOrEqual(row.medianMicros);
    expectNear(row.algGBs, row.bytes / row.medianMicros / 1e3);
    expectNear(row.copyRatio, row.medianMicros / row.copyMicros);
    expect(row.samples).toBeGreaterThanOrEqual(2);
    expect(row).toMatchObject({ ranks: 2, cpus: expect.any(Number), cpu: expect.any(String) });
    expect(row.node).toBe(process.versions.node);
    expect(Date.parse(row.date)).toBeGreaterThan(0);
    expect(row).not.toHaveProperty('peer');
  }
}

const available = engineNames.filter((name) => whyNot(name) === undefined);

it('bench measures every available engine, with both kinds of input and both placements', async () => {
  const rows = await rowsOf('--suite', 'in-process', '--bytes', '4,1KiB', '--forms', 'sync', '--places', 'in,out');
  const ours = rows.filter(({ engine }) => engine !== 'bound');
  expect(ours.map((row) => `${row.engine} ${row.place} ${row.input} ${row.bytes}`)).toEqual(
    [4, 1024].flatMap((bytes) =>
      available.flatMap((engine) =>
        places.flatMap((place) => inputKinds.map((input) => `${engine} ${place} ${input} ${bytes}`)),
      ),
    ),
  );
  expect(ours.map((row) => row.case).slice(0, 4)).toEqual([
    'direct still',
    'direct fresh',
    'direct still out of place',
    'direct fresh out of place',
  ]);
  expectSane(rows);
});

it('bench measures every requested call form and algorithm, and counts timers that fire during calls', async () => {
  const list = ['--engines', available[0] as string, '--algorithms', 'ring,direct', '--bytes', '1KiB'];
  const rows = await rowsOf('--suite', 'in-process,strategy,event-loop', '--inputs', 'still', ...list);
  expectSane(rows);
  const cases = rows.filter(({ engine }) => engine !== 'bound').map((row) => `${row.suite} ${row.case} ${row.form}`);
  const of = (suite: string, name: (algorithm: string) => string, forms: readonly string[]) =>
    forms.flatMap((form) => ['ring', 'direct'].map((algorithm) => `${suite} ${name(algorithm)} ${form}`));
  const memory = ['', ' of new memory', ' into a new result', ': new memory alone'];
  const ofContexts = (call: string, forms: readonly string[]) =>
    forms.flatMap((form) =>
      ['ring', 'direct'].flatMap((algorithm) => memory.map((words) => `strategy ${call} ${algorithm}${words} ${form}`)),
    );
  expect(cases).toEqual([
    ...of('in-process', (algorithm) => `${algorithm} still`, ['sync', 'async', 'controller']),
    ...ofContexts('allReduceSync', ['sync']),
    ...ofContexts('allReduce', ['async', 'controller']),
    ...of('event-loop', (algorithm) => `timers ${algorithm}`, ['async', 'controller']),
  ]);
  for (const row of rows.filter(({ suite }) => suite === 'event-loop'))
    if (row.engine !== 'bound')
      expect(row).toMatchObject({ timers: expect.any(Number), onTimeShare: expect.any(Number) });
});

it('bench also measures each of the collectives besides all-reduce', async () => {
  const rows = await rowsOf('--suite', 'collectives', '--bytes', '1KiB', '--engines', 'js', '--forms', 'sync');
  expectSane(rows);
  const cases = rows.map((row) => row.case);
  const kinds = collectiveKinds.filter((kind) => kind !== 'all-reduce');
  expect(cases).toEqual(kinds.map((kind) => `${kind} direct`));
  const gather = rows.find((row) => row.case === 'all-gather direct') as Row;
  expectNear(gather.busGBs, gather.algGBs / 2);
});

const hasProcesses = available.includes('native') && process.platform === 'linux';

it.skipIf(!hasProcesses)('bench measures processes over each transport, with shared and ordinary arrays', async () => {
  const only = ['--bytes', '1KiB', '--forms', 'sync,async', '--inputs', 'still'];
  const rows = (await rowsOf('--suite', 'processes', ...only)).filter(({ engine }) => engine !== 'bound');
  expectSane(rows);
  const over = (transport: string, ...memories: string[]) =>
    ['sync', 'async'].flatMap((form) => memories.map((memory) => `${transport} ${memory} ${form}`));
  const ofProcesses = rows.filter(({ transport }) => transport !== undefined);
  expect(ofProcesses.map(({ transport, memory, form }) => `${transport} ${memory} ${form}`)).toEqual([
    ...over('shared-memory', 'arena', 'ordinary'),
    ...over('tcp', 'ordinary'),
  ]);
  expect(rows.filter(({ transport }) => !transport).map((row) => `${row.case} ${row.form}`)).toEqual([
    'direct threads still sync',
    'direct threads still async',
  ]);
});

it.skipIf(!compileBound())(
  'bench compares times with the memory-bandwidth bound, for two ranks and for more ranks than cores',
  async () => {
    const only = ['--bytes', '64KiB', '--engines', 'js', '--forms', 'sync', '--inputs', 'still'];
    const rows = await rowsOf(
      '--suite',
      'in-process',
      '--ranks',
      `2,${Math.max(3, availableParallelism() + 1)}`,
      ...only,
    );
    expect(rows.map(({ engine, case: name }) => `${engine} ${name}`)).toEqual([
      'bound update still',
      'js direct still',
      'bound update still',
      'js direct still',
    ]);
    for (const row of rows) expectNear(row.boundShare, (row.boundMicros as number) / row.medianMicros);
  },
);

it.skipIf(!isInstalled('openmpi'))('bench measures a peer library next to coll', async () => {
  const only = ['--bytes', '4,64KiB', '--engines', 'js', '--forms', 'sync', '--places', 'in,out'];
  const rows = await rowsOf('--suite', 'in-process', '--peers', 'openmpi,openmpi-tuned', ...only);
  const theirs = rows.filter(({ engine }) => engine === 'peer');
  expect(theirs).toHaveLength(16);
  expect(new Set(theirs.map(({ peer }) => peer))).toEqual(new Set(['openmpi', 'openmpi-tuned']));
  for (const row of theirs) expect(row.medianMicros).toBeGreaterThan(0);
});

it('bench --out also writes the result rows to a file', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-bench-test-'));
  try {
    const out = path.join(folder, 'rows.jsonl');
    const only = ['--bytes', '4', '--engines', 'js', '--forms', 'sync', '--inputs', 'still'];
    const rows = await rowsOf('--suite', 'in-process', ...only, '--out', out);
    expect(readRows(out)).toEqual(rows);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('bench refuses an unknown argument in one line', async () => {
  const line =
    'no suite is called "nope"; there are in-process, gradients, event-loop, strategy, collectives, packing, overlap, processes\n';
  expect(await bench('--suite', 'nope')).toEqual({ code: 2, output: '', errors: line });
});

it('bench prints its help', async () => {
  const { code, output } = await bench('--help');
  expect(code).toBe(0);
  for (const option of ['--quick', '--suite', '--ranks', '--bytes', '--engines', '--peers', '--json', '--markdown'])
    expect(output).toContain(option);
});
