import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../test/memory-folder.ts';
import { nodeDisk } from '../node/node-disk.js';
import { checkpointFolders, writeCheckpointFolder } from './checkpoint-folders.js';

let parent: string;

beforeEach(async () => {
  parent = await memoryFolder();
});

afterEach(() => rm(parent, { recursive: true, force: true }));

const files = (text: string) => new Map([['a.bin', new TextEncoder().encode(text)]]);
const names = async () => (await checkpointFolders(nodeDisk, parent)).map((folder) => path.basename(folder));

describe('folders of checkpoints', () => {
  it('are numbered in order of writing, in a folder that is created with those around it', async () => {
    const inner = path.join(parent, 'runs/1');
    expect(await checkpointFolders(nodeDisk, inner)).toEqual([]);
    const first = await writeCheckpointFolder(nodeDisk, inner, files('one'));
    const second = await writeCheckpointFolder(nodeDisk, inner, files('two'));
    expect([first, second].map((folder) => path.relative(inner, folder))).toEqual([
      'checkpoint-000001',
      'checkpoint-000002',
    ]);
    expect(await checkpointFolders(nodeDisk, inner)).toEqual([second, first]);
    expect(await readFile(path.join(second, 'a.bin'), 'utf8')).toBe('two');
  });

  it('sort by number, also beyond six digits, and ignore other names', async () => {
    for (const name of ['checkpoint-1000000', 'checkpoint-999999', 'checkpoint-x', 'checkpoint-000002.bak', 'best'])
      await mkdir(path.join(parent, name));
    expect(await names()).toEqual(['checkpoint-1000000', 'checkpoint-999999']);
    expect(path.basename(await writeCheckpointFolder(nodeDisk, parent, files('')))).toBe('checkpoint-1000001');
  });

  it('are free of what crashed attempts left after the next one is written, and keep all other files', async () => {
    const leftover = path.join(parent, '.checkpoint-000001-0123abcd');
    await mkdir(leftover);
    await writeFile(path.join(leftover, 'a.bin'), 'half');
    for (const name of ['.checkpoint-of-mine', 'notes.txt']) await writeFile(path.join(parent, name), '');
    await writeCheckpointFolder(nodeDisk, parent, files('one'));
    expect((await readdir(parent)).sort()).toEqual(['.checkpoint-of-mine', 'checkpoint-000001', 'notes.txt']);
  });

  it('leave nothing behind if a file cannot be written', async () => {
    const impossible = new Map([...files('one'), ['no/such/folder', new Uint8Array(1)]]);
    await expect(writeCheckpointFolder(nodeDisk, parent, impossible)).rejects.toThrow('ENOENT');
    expect(await readdir(parent)).toEqual([]);
  });

  it('are removed with all their files', async () => {
    const folder = await writeCheckpointFolder(nodeDisk, parent, files('one'));
    await nodeDisk.remove(folder);
    expect(await readdir(parent)).toEqual([]);
  });
});
