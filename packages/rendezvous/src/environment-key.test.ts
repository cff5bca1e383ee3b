import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ValueError } from '@coll/core';
import { afterAll, describe, expect, it } from 'vitest';
import { jobKeyFromEnvironment } from './environment-key.js';

const folder = mkdtempSync(path.join(tmpdir(), 'coll-key-'));
afterAll(() => rmSync(folder, { recursive: true }));

function keyFile(name: string, mode: number): string {
  const file = path.join(folder, name);
  writeFileSync(file, 'from-a-file\n');
  chmodSync(file, mode);
  return file;
}

describe('jobKeyFromEnvironment', () => {
  it('returns the text of the file, which wins over the variable', () => {
    const environment = { COLL_JOB_KEY_FILE: keyFile('private', 0o600), COLL_JOB_KEY: 'from-the-variable' };
    expect(jobKeyFromEnvironment(environment)).toBe('from-a-file');
    expect(jobKeyFromEnvironment({ ...environment, COLL_JOB_KEY_FILE: '' })).toBe('from-the-variable');
    expect(jobKeyFromEnvironment({ COLL_JOB_KEY: '' })).toBeUndefined();
  });

  it('follows links, as in a volume of a Kubernetes Secret', () => {
    const link = path.join(folder, 'link');
    symlinkSync(keyFile('target', 0o400), link);
    expect(jobKeyFromEnvironment({ COLL_JOB_KEY_FILE: link })).toBe('from-a-file');
  });

  it.each([0o604, 0o644, 0o602, 0o666])('refuses a file with mode %o, and names the cure', (mode) => {
    const file = keyFile(`open-${mode}`, mode);
    expect(() => jobKeyFromEnvironment({ COLL_JOB_KEY_FILE: file })).toThrow(
      expect.objectContaining({
        name: 'ValueError',
        code: 'ERR_COLL_CLUSTER',
        message: expect.stringMatching(
          `can be read by other users \\(mode ${mode.toString(8)}\\): chmod 600 ${file}, and`,
        ),
      }),
    );
  });

  it('lets the group read a file of root only', () => {
    const file = keyFile('group', 0o640);
    const isOfRoot = process.getuid?.() === 0;
    const read = () => jobKeyFromEnvironment({ COLL_JOB_KEY_FILE: file });
    if (!isOfRoot) return expect(read).toThrow('(mode 640)');
    expect(read()).toBe('from-a-file');
    chownSync(file, 1000, 1000);
    expect(read).toThrow('(mode 640)');
  });

  it('refuses what is not a file', () => {
    expect(() => jobKeyFromEnvironment({ COLL_JOB_KEY_FILE: '/dev/null' })).toThrow('is not a file');
    expect(() => jobKeyFromEnvironment({ COLL_JOB_KEY_FILE: folder })).toThrow('is not a file');
    const missing = () => jobKeyFromEnvironment({ COLL_JOB_KEY_FILE: path.join(folder, 'none') });
    expect(missing).toThrow(/cannot be opened \(ENOENT.*`npx coll key --out FILE`/);
    expect(missing).toThrow(ValueError);
  });
});
