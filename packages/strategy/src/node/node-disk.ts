import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Disk } from '../checkpoints/disk.js';

const leftover = /^\.checkpoint-\d{6,}-[0-9a-f]{8}$/;

/** The files of Node.js. A new checkpoint is written under another name, flushed and renamed. */
export const nodeDisk: Disk = {
  path,
  sha256: (bytes) => createHash('sha256').update(bytes).digest('hex'),
  names: namesIn,

  async read(file, requireSize) {
    try {
      requireSize((await stat(file)).size);
      return await readFile(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') return undefined;
      throw error;
    }
  },

  async prepare(parent) {
    await makeFolder(parent);
    for (const name of await namesIn(parent)) {
      if (leftover.test(name)) await rm(path.join(parent, name), { recursive: true, force: true });
    }
  },

  async write(folder, files) {
    const temporary = temporaryOf(folder);
    try {
      await mkdir(temporary);
      for (const [name, bytes] of files) await writeFlushed(path.join(temporary, name), bytes);
      await flushFolder(temporary);
      await rename(temporary, folder);
    } catch (error) {
      // The error that led here is the one to tell. The next save removes what is left.
      await rm(temporary, { recursive: true, force: true }).catch(() => {});
      throw error;
    }
    await flushFolder(path.dirname(folder));
  },

  async remove(folder) {
    const temporary = temporaryOf(folder);
    await rename(folder, temporary);
    await rm(temporary, { recursive: true, force: true });
  },
};

// The random part keeps a process of an earlier attempt that still writes from the files of this one.
function temporaryOf(folder: string): string {
  return path.join(path.dirname(folder), `.${path.basename(folder)}-${randomBytes(4).toString('hex')}`);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Creates a folder and those around it, and flushes their names to the disk. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  const outermost = path.dirname(first);
  let created = path.resolve(folder);
  while (created !== outermost) {
    created = path.dirname(created);
    await flushFolder(created);
  }
}

/** Writes a file and flushes it to the disk. */
export async function writeFlushed(file: string, bytes: Uint8Array): Promise<void> {
  await withFile(await open(file, 'w'), async (handle) => {
    await handle.writeFile(bytes);
    await handle.sync();
  });
}

/** Flushes the names in a folder to the disk. Windows has no such operation. */
export async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  await withFile(await open(folder, 'r'), (handle) => handle.sync());
}

async function withFile(handle: FileHandle, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  try {
    await work(handle);
  } finally {
    await handle.close();
  }
}
