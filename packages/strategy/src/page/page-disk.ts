import { RuntimeError } from '@coll/core';
import { manifestName } from '../checkpoints/checkpoint-files.js';
import type { Disk, Files } from '../checkpoints/disk.js';

/** The parts of the web platform that store files. The types of TypeScript's library `dom` would hold for Node.js, too. */
interface Web {
  readonly crypto?: { readonly subtle?: { digest(name: 'SHA-256', bytes: Uint8Array): Promise<ArrayBuffer> } };
  readonly navigator?: { readonly storage?: Partial<Storage> };
}

interface Storage {
  getDirectory(): Promise<Directory>;
  estimate(): Promise<{ readonly usage?: number }>;
}

interface Directory {
  getDirectoryHandle(name: string, options: { readonly create: boolean }): Promise<Directory>;
  getFileHandle(name: string, options: { readonly create: boolean }): Promise<StoredFile>;
  removeEntry(name: string, options?: { readonly recursive: boolean }): Promise<void>;
  keys(): AsyncIterable<string>;
}

interface StoredFile {
  getFile(): Promise<Blob>;
  createWritable?(): Promise<Writable>;
}

interface Writable {
  write(bytes: Uint8Array): Promise<void>;
  /** Puts what was written into the file, all or nothing. */
  close(): Promise<void>;
  abort(): Promise<void>;
}

const web = globalThis as unknown as Web;
const checkpoint = /^checkpoint-\d{6,}$/;

/**
 * The origin private file system of a page and its workers. Browsers cannot rename a folder, so the
 * manifest of a checkpoint is written last and removed first: a folder without one is a leftover.
 */
export const pageDisk: Disk = {
  path: {
    resolve: (folder) => `/${namesOf(folder).join('/')}`,
    join: (folder, name) => `${folder}/${name}`,
    basename: (folder) => namesOf(folder).at(-1) ?? '',
  },

  async sha256(bytes) {
    const { subtle } = web.crypto ?? {};
    if (!subtle) throw lacking('Web Cryptography');
    const sum = new Uint8Array(await subtle.digest('SHA-256', bytes));
    return Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('');
  },

  async names(folder) {
    const directory = await found(directoryAt(folder), 'NotFoundError');
    const names: string[] = [];
    if (directory) for await (const name of directory.keys()) names.push(name);
    return names;
  },

  async read(file, requireSize) {
    const blob = await found(fileAt(file), 'NotFoundError', 'TypeMismatchError');
    if (!blob) return undefined;
    requireSize(blob.size);
    return new Uint8Array(await blob.arrayBuffer());
  },

  async prepare(parent) {
    const directory = await directoryAt(parent, true);
    for (const name of await pageDisk.names(parent)) {
      if (!checkpoint.test(name)) continue;
      const manifest = await found(fileAt(`${parent}/${name}/${manifestName}`), 'NotFoundError', 'TypeMismatchError');
      // A file that was created, but not closed, is empty.
      if (!manifest?.size) await directory.removeEntry(name, { recursive: true });
    }
  },

  async write(folder, files) {
    try {
      const directory = await directoryAt(folder, true);
      for (const [name, bytes] of files) await writeFile(directory, name, bytes);
    } catch (error) {
      // The error that led here is the one to tell. The next save removes what is left.
      await pageDisk.remove(folder).catch(() => {});
      throw isNamed(error, 'QuotaExceededError') ? await full(files, error) : error;
    }
  },

  async remove(folder) {
    const names = namesOf(folder);
    const name = names.pop() as string;
    await found((await directoryAt(folder)).removeEntry(manifestName), 'NotFoundError');
    await (await directoryAt(names.join('/'))).removeEntry(name, { recursive: true });
  },
};

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** A folder by its path. @param create whether to create it and those around it. Default: false */
async function directoryAt(path: string, create = false): Promise<Directory> {
  const { storage } = web.navigator ?? {};
  if (!storage?.getDirectory) throw lacking('an origin private file system');
  let directory = await storage.getDirectory();
  for (const name of namesOf(path)) directory = await directory.getDirectoryHandle(name, { create });
  return directory;
}

async function fileAt(path: string): Promise<Blob> {
  const names = namesOf(path);
  const name = names.pop() as string;
  return (await (await directoryAt(names.join('/'))).getFileHandle(name, { create: false })).getFile();
}

async function writeFile(directory: Directory, name: string, bytes: Uint8Array): Promise<void> {
  const file = await directory.getFileHandle(name, { create: true });
  if (!file.createWritable) throw lacking('FileSystemFileHandle.createWritable');
  const writable = await file.createWritable();
  try {
    await writable.write(bytes);
    await writable.close();
  } catch (error) {
    // Otherwise the file stays locked, and cannot be removed.
    await writable.abort().catch(() => {});
    throw error;
  }
}

/** The value; undefined if the promise rejects by an exception of one of these names. */
async function found<Value>(value: Promise<Value>, ...names: readonly string[]): Promise<Value | undefined> {
  try {
    return await value;
  } catch (error) {
    if (names.some((name) => isNamed(error, name))) return undefined;
    throw error;
  }
}

function isNamed(error: unknown, name: string): boolean {
  return (Object(error) as Partial<Error>).name === name;
}

function lacking(what: string): RuntimeError {
  const cure =
    'serve the page over HTTPS or from localhost, and use a newer browser; in Node.js, import the entry "node"';
  return new RuntimeError('ERR_COLL_CONTEXT', `checkpoints in pages need ${what}, which does not exist here; ${cure}`);
}

async function full(files: Files, cause: unknown): Promise<RuntimeError> {
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  // Chromium reports a quota from which nobody can tell how much the disk has left.
  const { usage } = (await web.navigator?.storage?.estimate?.()) ?? {};
  const state = `the checkpoint has ${bytes} bytes, and this site stores ${usage ?? 'an unknown number of'} bytes already`;
  const cure = 'keep fewer checkpoints (the option keep), remove other data of the site, or free space on the disk';
  return new RuntimeError('ERR_COLL_CHECKPOINT', `the storage is full: ${state}; ${cure}`, { cause });
}
