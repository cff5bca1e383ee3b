import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordFolder } from './record-folder.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'coll-record-folder-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const runtime = () => ({ environment: { XDG_RUNTIME_DIR: root }, platform: 'linux' }) as const;
const named = (folder: string) => ({ environment: { COLL_RECORD_DIR: folder } });
const modeOf = (folder: string) => lstatSync(folder).mode & 0o777;

describe('the folder of records', () => {
  it('is created in the runtime folder, for its user only', () => {
    const folder = path.join(root, 'coll');
    expect(recordFolder(runtime())).toEqual({ path: folder });
    expect(modeOf(folder)).toBe(0o700);
  });

  it('is closed to others if it was open', () => {
    const folder = path.join(root, 'coll');
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    expect(recordFolder(runtime())).toEqual({ path: folder });
    expect(modeOf(folder)).toBe(0o700);
  });

  it('is the one that COLL_RECORD_DIR names, which is created with its parents', () => {
    const folder = path.join(root, 'a', 'b');
    expect(recordFolder(named(folder))).toEqual({ path: folder });
    expect(modeOf(folder)).toBe(0o700);
  });

  it('is not created for readers', () => {
    const folder = path.join(root, 'a');
    expect(recordFolder({ ...named(folder), mayCreate: false })).toMatchObject({
      refusal: expect.stringContaining('ENOENT'),
    });
  });

  it('is refused if it is a link or a file', () => {
    const [link, file] = [path.join(root, 'link'), path.join(root, 'file')];
    symlinkSync(root, link);
    writeFileSync(file, '');
    expect(recordFolder(named(link))).toEqual({ refusal: `${link} is a link`, isNamed: true });
    expect(recordFolder(named(file))).toEqual({ refusal: `${file} is not a folder`, isNamed: true });
  });

  it('is refused if it belongs to another user', () => {
    const user = lstatSync(root).uid + 1;
    const refusal = `${root} belongs to user ${user - 1}, but must belong to user ${user}`;
    expect(recordFolder({ ...named(root), user })).toEqual({ refusal, isNamed: true });
    mkdirSync(path.join(root, 'coll'));
    expect(recordFolder({ ...runtime(), user })).not.toHaveProperty('path', path.join(root, 'coll'));
    rmSync(`/dev/shm/coll-${user}`, { recursive: true, force: true });
  });

  it('is refused if COLL_RECORD_DIR names a folder to which others may write', () => {
    chmodSync(root, 0o777);
    const refusal = `other users may write to ${root}, but must not: chmod go-w ${root}`;
    expect(recordFolder(named(root))).toEqual({ refusal, isNamed: true });
  });
});
