import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { recordLayout } from '@coll/core/internal';
import { storedRecords } from '@coll/native/record';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./fixtures/recorded.js', import.meta.url));
const { header, communicator, note, call: calls } = recordLayout;
const firstCall = header.bytes + communicator.bytes * communicator.length + note.bytes * note.length;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-records-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(way: string, environment: Record<string, string> = {}) {
  const env = { ...process.env, COLL_RECORD_DIR: folder, ...environment };
  const { status, signal, stderr } = spawnSync(process.execPath, [program, way], { env, encoding: 'utf8' });
  return { status, signal, stderr };
}

const bytesOf = (name: string) => new DataView(new Uint8Array(readFileSync(path.join(folder, name))).buffer);

describe('the record of a program', () => {
  it('is removed when the program ends well', () => {
    expect(run('well')).toEqual({ status: 0, signal: null, stderr: '' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not made by a program that makes no group, nor with COLL_RECORD=off', () => {
    expect(run('none').status).toBe(0);
    expect(run('kill', { COLL_RECORD: 'off' }).signal).toBe('SIGKILL');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('survives SIGKILL, for its user only, with the calls and a pulse', () => {
    expect(run('kill').signal).toBe('SIGKILL');
    const [name = '', ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(statSync(path.join(folder, name)).mode & 0o777).toBe(0o600);
    const record = bytesOf(name);
    const words = (field: keyof typeof header.fields) => record.getInt32(header.fields[field], true);
    const numbers = (field: keyof typeof header.fields) => record.getFloat64(header.fields[field], true);
    expect(words('callsMade')).toBe(5);
    for (let call = 0; call < 5; call++) {
      const [begun = 0, ended] = (['begun', 'ended'] as const).map((field) =>
        record.getFloat64(firstCall + call * calls.bytes + calls.fields[field], true),
      );
      expect(begun).toBeGreaterThan(0);
      expect(ended).toBeGreaterThanOrEqual(begun);
    }
    expect(words('systemThread')).toBe(words('pid'));
    expect(String.fromCharCode(words('threadState'))).toMatch(/[A-Z]/);
    expect(numbers('residentBytes')).toBeGreaterThan(1e6);
    expect(numbers('cpuTime')).toBeGreaterThan(0);
    expect(Math.abs(numbers('alive') - numbers('begun'))).toBeLessThan(60e6);
    expect(storedRecords(folder)).toMatchObject([{ end: 'open', hasFailure: false }]);
  });

  it('is kept when the program ends by an error', () => {
    expect(run('throw').status).toBe(1);
    expect(storedRecords(folder)).toMatchObject([{ end: 'failed' }]);
  });

  it('is one file per thread, and threads that have ended are closed', () => {
    expect(run('threads').signal).toBe('SIGKILL');
    const ends = storedRecords(folder).map(({ end }) => end);
    expect(ends.toSorted()).toEqual(['closed', 'closed', 'open']);
  });

  it('is closed for a thread that was terminated', () => {
    expect(run('terminated').signal).toBe('SIGKILL');
    expect(
      storedRecords(folder)
        .map(({ end }) => end)
        .toSorted(),
    ).toEqual(['closed', 'open']);
  });

  it('is removed together with those of threads that still run', () => {
    expect(run('running')).toEqual({ status: 0, signal: null, stderr: '' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('warns once about a value of COLL_RECORD that is not known, and records', () => {
    const { stderr } = run('kill', { COLL_RECORD: 'yes' });
    expect(stderr).toContain('COLL_RECORD must be on or off, got "yes"; recording calls');
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(storedRecords(folder)).toHaveLength(1);
  });

  it('is in memory if the folder cannot be used, with a warning', () => {
    const { status, stderr } = run('well', { COLL_RECORD_DIR: program });
    expect(status).toBe(0);
    expect(stderr).toContain('COLL_RECORD_DIR cannot be used');
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('is written only when the program ends badly, if there is no addon', () => {
    const withoutAddon = { COLL_NATIVE_PATH: program, COLL_LOG: 'silent' };
    expect(run('kill', withoutAddon).signal).toBe('SIGKILL');
    expect(run('well', withoutAddon).status).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
    expect(run('throw', withoutAddon).status).toBe(1);
    expect(storedRecords(folder)).toMatchObject([{ end: 'failed' }]);
    const [name = ''] = readdirSync(folder);
    expect(bytesOf(name).getInt32(header.fields.callsMade, true)).toBe(5);
  });
});
