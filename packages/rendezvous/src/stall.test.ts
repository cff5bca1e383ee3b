import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hasStallReader, reportStall, stallReportsIn, stallSecondsFrom } from './stall.js';

const waiting = { operation: 'all-reduce sum', sequence: 17, missing: [2], seconds: 61 };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-stall-'));
  file = path.join(folder, 'stalls');
  writeFileSync(file, '');
});
afterEach(() => rmSync(folder, { recursive: true }));

const linesOf = (text: string) => text.split('\n').slice(0, -1);
const from = (rank: number) => ({ COLL_STALL_FILE: file, COLL_RANK: String(rank) });

it('stall reports of several ranks are read in the order in which they were written', () => {
  reportStall(waiting, from(1));
  reportStall({ operation: 'open a group', missing: [], seconds: 1 }, from(0));
  reportStall(undefined, from(1));
  expect(stallReportsIn(linesOf(readFileSync(file, 'utf8')))).toEqual([
    { rank: 1, stall: waiting },
    { rank: 0, stall: { operation: 'open a group', missing: [], seconds: 1 } },
    { rank: 1, stall: undefined },
  ]);
});

it('stall reports that cannot be parsed are skipped', () => {
  const lines = ['{', '', 'null', '{"rank":-1}', '{"rank":1,"stall":{"operation":1}}', '{"rank":3}'];
  expect(stallReportsIn(lines)).toEqual([{ rank: 3, stall: undefined }]);
});

it('stall reports are not written if the launcher has removed the file', () => {
  reportStall(waiting, { COLL_RANK: '0' });
  reportStall(waiting, { COLL_STALL_FILE: file });
  expect(readFileSync(file, 'utf8')).toBe('');
  rmSync(file);
  reportStall(waiting, from(0));
  expect(existsSync(file)).toBe(false);
});

it('writing stall reports leaves no file open', () => {
  const reports = 500;
  const openFiles = () => readdirSync('/dev/fd').length;
  const before = openFiles();
  for (let count = 0; count < reports; count++) reportStall(waiting, from(0));
  expect(openFiles() - before).toBeLessThan(reports / 2);
});

it.each([
  [{}, 30],
  [{ COLL_STALL_SECONDS: '' }, 30],
  [{ COLL_STALL_SECONDS: '1.5' }, 1.5],
  [{ COLL_STALL_SECONDS: '0' }, undefined],
])('the stall delay is read from the environment %j', (environment, seconds) => {
  expect(stallSecondsFrom(environment)).toBe(seconds);
});

it.each(['soon', '-1', ' ', 'NaN', '1e9'])('the stall delay %j is refused', (text) => {
  expect(() => stallSecondsFrom({ COLL_STALL_SECONDS: text })).toThrow(/^COLL_STALL_SECONDS must be a number/);
});

it('reports have a reader if the launcher has named a file and a rank', () => {
  expect([hasStallReader({}), hasStallReader({ COLL_STALL_FILE: 'f' }), hasStallReader(from(0))]).toEqual([
    false,
    false,
    true,
  ]);
});
