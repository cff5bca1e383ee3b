import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** The files of a folder by name. */
export type Files = ReadonlyMap<string, Uint8Array>;

const pattern = /^checkpoint-(\d{6,})$/;
const leftover = /^\.checkpoint-\d{6,}-[0-9a-f]{8}$/;

/** The folders of all checkpoints in a folder, from the newest to the oldest. */
export async function checkpointFolders(parent: string): Promise<string[]> {
  const numbers = (await namesIn(parent)).flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => b - a).map((number) => path.join(parent, nameOf(number)));
}

/**
 * Writes the files of a new checkpoint. After a crash at any time, its folder is there with all
 * files, or not at all. Returns the folder.
 */
export async function writeCheckpointFolder(parent: string, files: Files): Promise<string> {
  await makeFolder(parent);
  await removeLeftovers(parent);
  const [newest] = await checkpointFolders(parent);
  const number = newest === undefined ? 1 : Number(pattern.exec(path.basename(newest))?.[1]) + 1;
  const folder = path.join(parent, nameOf(number));
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
  await flushFolder(parent);
  return folder;
}

/** Removes the folder of a checkpoint. A crash does not leave a part of it under its name. */
export async function removeCheckpointFolder(folder: string): Promise<void> {
  const temporary = temporaryOf(folder);
  await rename(folder, temporary);
  await rm(temporary, { recursive: true, force: true });
}

/** Removes what crashed attempts have left. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await namesIn(parent)) {
    if (leftover.test(name)) await rm(path.join(parent, name), { recursive: true, force: true });
  }
}

function nameOf(number: number): string {
  return `checkpoint-${String(number).padStart(6, '0')}`;
}

// The random part keeps a process of an earlier attempt that still writes from the files of this one.
function temporaryOf(folder: string): string {
  return path.join(path.dirname(folder), `.${path.basename(folder)}-${randomBytes(4).toString('hex')}`);
}

/** The names in a folder; none if the folder does not exist. */
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
