import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exchangeByFile, sessionFile } from './session-folder.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-session-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

it('is used if only this user can enter it', () => {
  const variables = { PMIX_SERVER_TMPDIR: folder, PMIX_NAMESPACE: 'job/1@2' };
  expect(sessionFile(variables)).toBe(path.join(folder, 'coll-job%2F1%402'));
  expect(sessionFile({ ...variables, PMIX_NAMESPACE: '' })).toBeUndefined();
  expect(sessionFile({ ...variables, PMIX_SERVER_TMPDIR: path.join(folder, 'none') })).toBeUndefined();
  const link = path.join(folder, 'link');
  symlinkSync(folder, link);
  expect(sessionFile({ ...variables, PMIX_SERVER_TMPDIR: link })).toBeUndefined();
  chmodSync(folder, 0o750);
  expect(sessionFile(variables)).toBeUndefined();
});

it('passes the text of rank 0 on, whoever comes first', async () => {
  const file = path.join(folder, 'coll');
  const { signal } = new AbortController();
  const early = exchangeByFile(file, undefined, signal);
  expect(await exchangeByFile(file, 'text', signal)).toBe('text');
  expect(await early).toBe('text');
  expect(await exchangeByFile(file, undefined, signal)).toBe('text');
  expect(existsSync(`${file}.new`)).toBe(false);
});

it('is no longer looked at once the wait is over', async () => {
  const over = new AbortController();
  const waiting = exchangeByFile(path.join(folder, 'coll'), undefined, over.signal);
  over.abort();
  await expect(waiting).rejects.toThrow('aborted');
});
