import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type RecordedNote, Recorder, recordBytes, recordedGroup, recordLayout } from '@coll/core/internal';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanRecords, endThreads, keptRecords, recordEnd, removeEndedJob, removeRecordsOf } from './kept-records.js';
import { recordName, storedRecords } from './stored-record.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-kept-records-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Stored {
  readonly process: string;
  readonly thread?: number;
  readonly group?: string;
  /** Undefined: the thread has not ended. */
  readonly exitCode?: number;
  readonly hasFailure?: boolean;
  readonly job?: string;
}

/** Stores the record of a thread, and returns the name of its file. */
function store({ process, thread = 0, group = '', exitCode, hasFailure = false, job = '' }: Stored): string {
  const memory = new ArrayBuffer(recordBytes);
  const names = { host: 'h', program: 'p', runtime: 'r', release: '1', threadName: 'main', clockOrigin: 0 };
  const recorder = new Recorder(memory, { pid: 7, thread, process, job, ...names });
  const identity = { id: group, kind: 'processes', engine: 'native', transport: 'memory', size: 2, rank: 0 };
  const note = (kind: RecordedNote['kind']) => recorder.note({ kind, text: '', group: recordedGroup(identity) });
  if (group !== '') note('opened');
  if (hasFailure) note('failure');
  if (exitCode !== undefined) recorder.close(exitCode);
  const name = recordName(7, process, thread);
  writeFileSync(path.join(folder, name), new Uint8Array(memory));
  return name;
}

const [a, b, c] = ['a'.repeat(16), 'b'.repeat(16), 'c'.repeat(16)] as const;
const names = () => readdirSync(folder).toSorted();

describe('records of a job', () => {
  it('are removed by its last process, if all have ended well', () => {
    store({ process: a, group: 'x', exitCode: 0 });
    store({ process: b, group: 'x', exitCode: 0 });
    store({ process: b, thread: 1, group: 'y', exitCode: 0 });
    store({ process: c, group: 'y', exitCode: 0 });
    removeEndedJob(folder, a);
    expect(names()).toEqual([]);
  });

  it.each([
    ['is open', {}],
    ['has failed', { exitCode: 1 }],
    ['has a failed group', { exitCode: 0, hasFailure: true }],
  ])('stay if one %s', (_, other) => {
    store({ process: a, group: 'x', exitCode: 0 });
    store({ process: b, group: 'x', ...other });
    removeEndedJob(folder, a);
    expect(names()).toHaveLength(2);
  });

  it('are not removed with those of another job', () => {
    store({ process: a, group: 'x', exitCode: 0 });
    const other = store({ process: b, group: 'y', exitCode: 0 });
    removeEndedJob(folder, a);
    expect(names()).toEqual([other]);
  });

  it('are removed by the launcher of the job, whatever their ends', () => {
    store({ process: a, job: 'run-1', exitCode: 1 });
    const other = store({ process: b, job: 'run-2', exitCode: 0 });
    removeRecordsOf(folder, 'run-1');
    expect(names()).toEqual([other]);
  });

  it('say how their process has ended, if its launcher has seen it', () => {
    const ended = store({ process: a, job: 'run-1' });
    const others = [store({ process: b, job: 'run-2' }), store({ process: c, job: 'run-1', exitCode: 0 })];
    recordEnd(folder, { job: 'run-1', pid: 7, exitCode: 137 });
    const endedWith = (name: string) =>
      readFileSync(path.join(folder, name)).readInt32LE(recordLayout.header.fields.endedWith);
    expect([ended, ...others].map(endedWith)).toEqual([138, 0, 138]);
    recordEnd(folder, { job: 'run-1', pid: 8, exitCode: 1 });
    expect(endedWith(ended)).toBe(138);
  });

  it('are closed for threads that end with their process', () => {
    store({ process: a, exitCode: 0 });
    store({ process: a, thread: 1 });
    store({ process: b });
    endThreads(folder, a);
    expect(storedRecords(folder).map(({ process, end }) => [process, end])).toEqual([
      [a, 'closed'],
      [a, 'closed'],
      [b, 'open'],
    ]);
  });
});

describe('records of processes that no longer run', () => {
  const isRunning = () => false;

  it('are kept for a limited time', () => {
    const name = store({ process: a });
    const now = Date.now() + keptRecords.millis;
    cleanRecords(folder, { isRunning, now: now - 60_000 });
    expect(names()).toEqual([name]);
    cleanRecords(folder, { isRunning, now: now + 60_000 });
    expect(names()).toEqual([]);
  });

  it('are kept up to a limited size', () => {
    const most = Math.floor(keptRecords.bytes / recordBytes);
    for (let thread = 0; thread < most + 2; thread++) store({ process: a, thread });
    cleanRecords(folder, { isRunning });
    expect(names()).toHaveLength(most);
  });

  it('are removed if their job has ended well', () => {
    store({ process: a, group: 'x', exitCode: 0 });
    store({ process: b, group: 'y', exitCode: 0 });
    const open = store({ process: c, group: 'y' });
    cleanRecords(folder, { isRunning });
    expect(names()).toEqual([recordName(7, b, 0), open]);
  });

  it('do not count while their process runs', () => {
    const name = store({ process: a });
    cleanRecords(folder, { isRunning: () => true, now: Date.now() + 2 * keptRecords.millis });
    expect(names()).toEqual([name]);
  });

  it('are not confused with other files', () => {
    writeFileSync(path.join(folder, 'notes.coll'), '');
    cleanRecords(folder, { isRunning, now: Date.now() + 2 * keptRecords.millis });
    expect(names()).toEqual(['notes.coll']);
  });
});
