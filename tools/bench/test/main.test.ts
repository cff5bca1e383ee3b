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
import { pythonPeers } from '../src/peers/peers.js';
import type { Row } from '../src/report/row.js';
import { readLines } from '../src/report/write-report.js';
import { inputKinds, places } from '../src/trial.js';

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));

const bench = (...args: string[]) => benchIn(process.env, ...args);

async function benchIn(env: NodeJS.ProcessEnv, ...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
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
  const inThreads = rows.filter(({ engine, transport }) => engine !== 'bound' && transport === undefined);
  const cases = inThreads.map((row) => `${row.suite} ${row.case} ${row.form}`);
  const of = (suite: string, name: (algorithm: string) => string, forms: readonly string[]) =>
    forms.flatMap((form) => ['ring', 'direct'].map((algorithm) => `${suite} ${name(algorithm)} ${form}`));
  const memory = ['', ' of new memory', ' into a new result', ' of new memory into a new result'];
  const words = [...memory, ': new memory alone', ': new memory and result alone'];
  const ofContexts = (call: string, forms: readonly string[]) =>
    forms.flatMap((form) =>
      ['ring', 'direct'].flatMap((algorithm) => [
        `strategy communicator ${algorithm} ${form}`,
        ...words.map((way) => `strategy ${call} ${algorithm}${way} ${form}`),
      ]),
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

it('bench measures cross-device ops and runs of a strategy', async () => {
  const list = ['--engines', available[0] as string, '--bytes', '1KiB'];
  const rows = (await rowsOf('--suite', 'ops,runs', ...list)).filter(({ engine }) => engine !== 'bound');
  expectSane(rows);
  const casesAt = (level: string, bytes: number) =>
    rows.filter((row) => row.level === level && row.bytes === bytes).map((row) => row.case);
  expect(casesAt('ops', 1024).slice(0, 3)).toEqual([
    'reduce direct',
    'reduce direct of new memory',
    'reduce direct into a new result',
  ]);
  expect(casesAt('ops', 102_400)[0]).toBe('batchReduce of 100 direct');
  expect(casesAt('strategy', 1024)).toEqual(['run of a module', 'run of a function']);
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

it.skipIf(!hasProcesses)('bench measures the contexts of a strategy over processes', async () => {
  const only = ['--bytes', '1KiB', '--engines', 'native', '--forms', 'sync,async', '--transport', 'shared-memory'];
  const rows = (await rowsOf('--suite', 'strategy', ...only)).filter(({ transport }) => transport !== undefined);
  expectSane(rows);
  const levels = (form: string) => rows.filter((row) => row.form === form).map(({ level }) => level);
  for (const form of ['sync', 'async'])
    expect(levels(form)).toEqual(['communicator', ...Array.from({ length: 6 }, () => 'context')]);
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

for (const name of pythonPeers)
  it.skipIf(!isInstalled(name))(`bench measures ${name} next to the contexts of a strategy`, async () => {
    const only = ['--bytes', '4,64KiB', '--engines', 'js', '--forms', 'controller', '--places', 'in,out'];
    const rows = await rowsOf('--suite', 'strategy', '--peers', name, ...only);
    const theirs = rows.filter(({ peer }) => peer === name);
    expect(theirs.map(({ place, bytes }) => `${place} ${bytes}`)).toEqual(['in 4', 'out 4', 'in 65536', 'out 65536']);
    for (const row of theirs) expect(row.medianMicros).toBeGreaterThan(0);
  });

it.skipIf(!isInstalled('mpich'))(
  'bench measures non-blocking calls of MPICH, with more ranks than cores too',
  async () => {
    const ranks = availableParallelism() + 1;
    const only = ['--bytes', '4', '--engines', 'js', '--forms', 'sync', '--ranks', `${ranks}`];
    const rows = await rowsOf('--suite', 'in-process', '--peers', 'mpich-nonblocking', ...only);
    expect(rows.filter(({ peer }) => peer === 'mpich-nonblocking').map(({ input }) => input)).toEqual([
      'still',
      'fresh',
    ]);
  },
);

it.skipIf(!isInstalled('mpich'))('bench measures @coll/mpi between C programs on the same MPI library', async () => {
  const rows = await rowsOf('--suite', 'mpi', '--peers', 'mpich', '--bytes', '4');
  expect(rows.map(({ case: name, form }) => [name, form].filter(Boolean).join(' '))).toEqual([
    'mpich, C program',
    'mpich, @coll/mpi sync',
    'mpich, @coll/mpi async',
    'mpich, blocking',
    'mpich, C program again',
  ]);
  for (const row of rows) {
    expect(row.programMicros).toBe(rows[0]?.programMicros);
    expect(row.blockingRatio).toBeGreaterThan(0);
  }
  expect(rows[0]).toMatchObject({ overProgramMicros: 0, programRatio: 1 });
});

it('bench without a requested peer library prints how to install it, and measures coll', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-bench-test-'));
  try {
    const only = ['--bytes', '4', '--engines', 'js', '--forms', 'sync', '--inputs', 'still', '--peers', 'mpi4py'];
    const list = ['--quick', '--json', '--suite', 'in-process', ...only];
    const { code, output, errors } = await benchIn({ ...process.env, PATH: folder }, ...list);
    expect(code, errors).toBe(0);
    expect(errors).toContain(
      'mpi4py is not measured: not installed; run: apt-get install --no-install-recommends openmpi-bin python3-mpi4py python3-numpy',
    );
    expect(JSON.parse(output)).toMatchObject({ case: 'direct still', engine: 'js' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('bench --out also writes the result rows to a file', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-bench-test-'));
  try {
    const out = path.join(folder, 'rows.jsonl');
    const only = ['--bytes', '4', '--engines', 'js', '--forms', 'sync', '--inputs', 'still'];
    const rows = await rowsOf('--suite', 'in-process', ...only, '--out', out);
    expect(readLines(out)).toEqual(rows);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('bench refuses an unknown argument in one line', async () => {
  const line =
    'no suite is called "nope"; there are in-process, gradients, event-loop, strategy, ops, runs, cold, collectives, packing, overlap, processes, mpi, recorder\n';
  expect(await bench('--suite', 'nope')).toEqual({ code: 2, output: '', errors: line });
});

it('bench prints its help', async () => {
  const { code, output } = await bench('--help');
  expect(code).toBe(0);
  for (const option of ['--quick', '--suite', '--ranks', '--bytes', '--engines', '--peers', '--json', '--markdown'])
    expect(output).toContain(option);
});
