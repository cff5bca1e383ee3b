import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, readSync, type Stats } from 'node:fs';
import path from 'node:path';
import { recordBytes, recordLayout } from '@coll/core/internal';
import { parseRecord, type ThreadRecord } from './record-file.js';

/** A file or folder that cannot be used. */
export interface Unread {
  readonly file: string;
  readonly reason: string;
}

export interface FoundRecords {
  readonly records: readonly ThreadRecord[];
  readonly unread: readonly Unread[];
}

/** Limits for folders with anything in them. */
const mostFiles = 4096;
const mostEntries = 65_536;
/** Calls that are kept of all records together. */
const mostCallsOfAll = 2 ** 20;

/** The folder in which threads of this user keep their records. */
export function recordFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env['COLL_RECORD_DIR']) return env['COLL_RECORD_DIR'];
  if (env['XDG_RUNTIME_DIR']) return path.join(env['XDG_RUNTIME_DIR'], 'coll');
  return `/dev/shm/coll-${process.getuid?.() ?? 0}`;
}

/** Reads the records at these paths: files, and the files `*.coll` of folders. Writes nothing, and follows no links. */
export function readRecords(paths: readonly string[], mostCalls = mostCallsOfAll): FoundRecords {
  const unread: Unread[] = [];
  const files = paths.flatMap((name) => filesAt(name, unread));
  const perFile = Math.max(64, Math.min(mostCalls, Math.floor(mostCallsOfAll / Math.max(1, files.length))));
  const reader = new FileReader(perFile);
  const records: ThreadRecord[] = [];
  for (const file of files.slice(0, mostFiles)) {
    const record = attempt(() => reader.read(file));
    if (typeof record === 'string') unread.push({ file, reason: record });
    else records.push(record);
  }
  if (files.length > mostFiles)
    unread.push({
      file: files[mostFiles] as string,
      reason: `only ${mostFiles} records are read, not ${files.length}`,
    });
  return { records, unread };
}

function filesAt(name: string, unread: Unread[]): readonly string[] {
  const found = attempt(() => {
    const stats = lstatSync(name);
    if (stats.isSymbolicLink()) return 'it is a link, which is not followed';
    if (!stats.isDirectory()) return [name];
    return refusalOf(stats) ?? namesIn(name);
  });
  if (typeof found !== 'string') return found;
  unread.push({ file: name, reason: found });
  return [];
}

function namesIn(folder: string): readonly string[] {
  const names: string[] = [];
  const entries = opendirSync(folder);
  try {
    for (let read = 0; read < mostEntries; read++) {
      const entry = entries.readSync();
      if (!entry) break;
      if (entry.name.endsWith('.coll')) names.push(path.join(folder, entry.name));
    }
  } finally {
    entries.closeSync();
  }
  return names.sort();
}

/** The result, or why the system refuses. */
function attempt<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === 'ELOOP') return 'it is a link, which is not followed';
    return code === 'ENOENT' ? 'it does not exist' : (error as Error).message;
  }
}

/** Why a file is not read. */
function refusalOf({ uid }: Stats): string | undefined {
  const own = process.geteuid?.();
  if (own === undefined || own === 0 || own === uid) return undefined;
  return `it belongs to user ${uid}; only this user and root may read it`;
}

class FileReader {
  readonly #bytes = new Uint8Array(recordBytes);
  readonly #headerAfter = new Uint8Array(recordLayout.header.bytes);
  readonly #mostCalls: number;

  constructor(mostCalls: number) {
    this.#mostCalls = mostCalls;
  }

  read(file: string): ThreadRecord | string {
    // Opening a pipe would wait for a writer.
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    const handle = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = fstatSync(handle);
      if (!stats.isFile()) return 'it is not a file';
      const refusal = refusalOf(stats);
      if (refusal) return refusal;
      const length = readInto(handle, this.#bytes);
      const hasHeader = readInto(handle, this.#headerAfter) === this.#headerAfter.length;
      const [headerAfter, mostCalls] = [hasHeader ? this.#headerAfter : undefined, this.#mostCalls];
      return parseRecord(this.#bytes.subarray(0, length), { file, mostCalls, headerAfter });
    } finally {
      closeSync(handle);
    }
  }
}

/** Reads from the beginning of a file until it ends or `into` is full. Returns the number of bytes. */
function readInto(handle: number, into: Uint8Array): number {
  let length = 0;
  while (length < into.length) {
    const read = readSync(handle, into, length, into.length - length, length);
    if (read === 0) break;
    length += read;
  }
  return length;
}
