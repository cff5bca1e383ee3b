import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { CheckedStore } from './checked-store.js';
import { makeFolder } from './make-folder.js';
import { raised, sameBytes } from './store.js';
import { poll } from './waiting.js';

/** Options of a file store. */
export interface FileStoreOptions {
  /**
   * The folder of the store. All members must have access to the folder. Other jobs may use it, too:
   * process groups of each job use keys of their own. If the folder does not exist, the store creates
   * a folder that only this user can access.
   */
  readonly folder: string;
}

const fileStoreOptions = knownOptions<FileStoreOptions>('FileStore', { folder: true });

// The first byte of a version distinguishes a value from a deletion.
const there = 1;
const gone = 0;
// Permissions of folders: only this user can access them.
const mode = 0o700;

interface Version {
  readonly number: number;
  readonly value: Uint8Array | undefined;
}

/**
 * A store in a shared file system. Each key is a folder, to which every write adds a file with the
 * next number. `link` creates each name at most once; unlike locks, it is atomic even on NFS. Old
 * versions stay until `remove`, so use this store for rendezvous, not for traffic.
 *
 * @example
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import path from 'node:path';
 * import { FileStore } from '@coll/rendezvous';
 *
 * // A folder that all members see, such as one on NFS.
 * const folder = await mkdtemp(path.join(tmpdir(), 'store-'));
 * const store = new FileStore({ folder });
 * await store.set('address', new TextEncoder().encode('10.0.0.1:4000'));
 * console.log(new TextDecoder().decode(await store.get('address'))); // 10.0.0.1:4000
 * await store.remove();
 * ```
 */
export class FileStore extends CheckedStore {
  readonly #folder: string;

  /** @throws ValueError if no folder is given */
  constructor(options: FileStoreOptions) {
    super();
    const { folder } = optionsOf(options, "{ folder: '/shared/job' }", fileStoreOptions);
    if (typeof folder !== 'string' || folder === '')
      throw new ValueError('ERR_COLL_VALUE', `FileStore: folder must be a path, got ${quote(folder)}`);
    this.#folder = path.resolve(folder);
  }

  /** Deletes the store's folder. Call this method when all members are done. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  protected async write(key: string, value: Uint8Array): Promise<void> {
    await this.#update(key, () => value);
  }

  protected read(key: string, over: AbortSignal): Promise<Uint8Array> {
    return poll(async () => (await this.#latest(key)).value, over);
  }

  protected async raise(key: string, amount: number): Promise<number> {
    let sum = 0;
    await this.#update(key, (value) => {
      sum = raised(key, value, amount);
      return Buffer.from(String(sum));
    });
    return sum;
  }

  protected exchange(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    return this.#update(key, (value) => (sameBytes(value, expected) ? desired : 'keep'));
  }

  protected erase(key: string): Promise<boolean> {
    return this.#update(key, (value) => (value === undefined ? 'keep' : undefined));
  }

  /**
   * Writes the value that `change` returns for the current one, retrying if another member has
   * written in between. Returns false if `change` returns 'keep'.
   */
  async #update(
    key: string,
    change: (value: Uint8Array | undefined) => Uint8Array | undefined | 'keep',
  ): Promise<boolean> {
    const folder = this.#folderOf(key);
    await ensureFolder(folder);
    for (;;) {
      const { number, value } = await this.#latest(key);
      const next = change(value);
      if (next === 'keep') return false;
      if (await putVersion(folder, number + 1, next)) return true;
    }
  }

  async #latest(key: string): Promise<Version> {
    const folder = this.#folderOf(key);
    const numbers = (await namesIn(folder)).map(Number).filter((number) => Number.isInteger(number));
    const number = Math.max(0, ...numbers);
    if (number === 0) return { number, value: undefined };
    const bytes = await readFile(path.join(folder, String(number)));
    return { number, value: bytes[0] === there ? Uint8Array.from(bytes.subarray(1)) : undefined };
  }

  // Keys may contain any characters, and be longer than a file name.
  #folderOf(key: string): string {
    return path.join(this.#folder, createHash('sha256').update(key).digest('hex'));
  }
}

/**
 * Creates a key's folder asynchronously, because a network file system may hang. Only the first key
 * of a job blocks the event loop, while the parent folders are created.
 */
async function ensureFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') makeFolder(folder, mode);
    else if (code !== 'EEXIST') throw error;
  }
}

/**
 * Writes one version of a value as file `number`. Returns false if another member has already
 * written this version.
 */
async function putVersion(folder: string, number: number, value: Uint8Array | undefined): Promise<boolean> {
  const draft = path.join(folder, `draft-${randomUUID()}`);
  const bytes = Buffer.concat([Buffer.of(value === undefined ? gone : there), value ?? Buffer.of()]);
  try {
    await writeFile(draft, bytes, { mode: 0o600 });
    await link(draft, path.join(folder, String(number)));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
