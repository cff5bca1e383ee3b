import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { docsSection } from '../src/report/docs-section.js';
import type { FailedRow, Row } from '../src/report/row.js';
import { rowsTable } from '../src/report/rows-table.js';
import { runSession } from '../src/run-session.js';
import type { Session, Trial } from '../src/trial.js';

const folder = mkdtempSync(path.join(tmpdir(), 'coll-bench-hung-'));
const search = process.env['PATH'];
beforeAll(() => {
  process.env['PATH'] = `${folder}${path.delimiter}${search}`;
});
afterAll(() => {
  process.env['PATH'] = search;
  rmSync(folder, { recursive: true });
});

/** An mpirun that prints one figure, and hangs with its rank when it is first started. Both ignore SIGTERM. */
function writeHangingMpirun(): void {
  const rank = `trap '' TERM; echo $$ > ${folder}/rank; while :; do sleep 1; done`;
  const lines = [
    '#!/bin/sh',
    `echo "$@" >> ${folder}/starts`,
    `if [ -e ${folder}/rank ]; then echo '{"ok":true,"samples":[3]}'; exit; fi`,
    "trap '' TERM",
    `sh -c "${rank.replaceAll('$', '\\$')}" &`,
    `while [ ! -s ${folder}/rank ]; do :; done`,
    'printf \'{"ok":true,"samples":[4,2]}\\n{"ok":tr\'',
    'wait',
    'while :; do wait; done',
  ];
  const file = path.join(folder, 'mpirun.openmpi');
  writeFileSync(file, `${lines.join('\n')}\n`);
  chmodSync(file, 0o755);
}

const trialOf = (engine: Trial['engine'], bytes: number): Trial => ({
  suite: 'in-process',
  name: engine === 'peer' ? 'openmpi still' : engine,
  work: engine === 'copy' ? { type: 'copy' } : { type: 'collective', kind: 'all-reduce' },
  engine,
  ...(engine === 'peer' ? { peer: 'openmpi' } : {}),
  input: 'still',
  place: 'in',
  ranks: 2,
  counts: [bytes / 4],
});
const sizes = [4, 1024, 4096];
const session: Session = {
  label: 'a test',
  ranks: 2,
  pieces: [
    [
      { venue: 'main-thread', trials: sizes.map((bytes) => trialOf('copy', bytes)) },
      { venue: 'openmpi', trials: sizes.map((bytes) => trialOf('peer', bytes)) },
    ],
  ],
};

it('a peer program that hangs is killed with all its ranks, and its result rows state this', async () => {
  writeHangingMpirun();
  const rows: (Row | FailedRow)[] = [];
  const settings = {
    rounds: 2,
    effort: { warmupMillis: 1, sampleMillis: 1, minSamples: 1, maxSamples: 2 },
    patienceSeconds: 0,
    repetitions: 0,
    silenceSeconds: 0.5,
    machine: { date: '2030-01-02T03:04:05.000Z', node: '20.0.0', cpu: 'A Processor', cpus: 2 },
    onProgress: () => {},
  };
  for await (const row of runSession(session, settings)) rows.push(row);
  expect(rows).toMatchObject([
    { bytes: 4, medianMicros: 3 },
    { bytes: 1024, peer: 'openmpi', failure: 'openmpi hung: no figure for 0.5 s' },
    { bytes: 4096, peer: 'openmpi', failure: 'not measured: openmpi hung in an earlier case' },
  ]);
  const starts = readFileSync(path.join(folder, 'starts'), 'utf8').trimEnd().split('\n');
  expect(starts.map((start) => start.match(/still:in:\d+/g))).toEqual([
    ['still:in:1', 'still:in:256', 'still:in:1024'],
    ['still:in:1'],
  ]);
  const rank = Number(readFileSync(path.join(folder, 'rank'), 'utf8'));
  // The rank is an orphan, which init removes a little later.
  await vi.waitFor(() => expect(() => process.kill(rank, 0)).toThrow('ESRCH'), 10_000);
  expect(rows[1]).not.toHaveProperty('medianMicros');
  expect(rowsTable(rows, 'terminal')).toContain('│ openmpi hung: no figure for 0.5 s');
  expect(rowsTable(rows, 'markdown')).toContain('| openmpi hung: no figure for 0.5 s |');
  expect(docsSection(rows)).toContain('- in-process, openmpi still, 2 ranks, 1 KiB: openmpi hung: no figure for 0.5 s');
});
