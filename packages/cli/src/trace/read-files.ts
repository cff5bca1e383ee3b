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
const mostCallsOfAll = 2 ** 19;

/** Files that are read before they are parsed, so that they show about the same moment. */
const filesAtOnce = 256;

/** Reads the records at these paths: files, and the files `*.coll` of folders. Writes nothing, and follows no links. */
export function readRecords(paths: readonly string[], mostCalls = mostCallsOfAll): FoundRecords {
  const unread: Unread[] = [];
  const files = paths.flatMap((name) => filesAt(name, unread));
  const perFile = Math.max(64, Math.min(mostCalls, Math.floor(mostCallsOfAll / Math.max(1, files.length))));
  const records: ThreadRecord[] = [];
  for (let begin = 0; begin < Math.min(files.length, mostFiles); begin += filesAtOnce) {
    const read = files
      .slice(begin, begin + filesAtOnce)
      .map((file) => ({ file, content: attempt(() => readFile(file)) }));
    for (const { file, content } of read) {
      const record =
        typeof content === 'string' ? content : parseRecord(content.bytes, { ...content, file, mostCalls: perFile });
      if (typeof record === 'string') unread.push({ file, reason: record });
      else records.push(record);
    }
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

interface Content {
  readonly bytes: Uint8Array;
  readonly readAt: number;
  readonly headerAfter: Uint8Array | undefined;
}

function readFile(file: string): Content | string {
  // Opening a pipe would wait for a writer.
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const handle = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = fstatSync(handle);
    if (!stats.isFile()) return 'it is not a file';
    const refusal = refusalOf(stats);
    if (refusal) return refusal;
    const readAt = monotonicMicros();
    const bytes = bytesOf(handle, recordBytes);
    const headerAfter = bytesOf(handle, recordLayout.header.bytes);
    return { bytes, readAt, headerAfter: headerAfter.length < recordLayout.header.bytes ? undefined : headerAfter };
  } finally {
    closeSync(handle);
  }
}

/** Microseconds of the monotonic clock of this host. */
export function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** The first bytes of a file, `most` or fewer. */
function bytesOf(handle: number, most: number): Uint8Array {
  const bytes = new Uint8Array(most);
  let length = 0;
  while (length < most) {
    const read = readSync(handle, bytes, length, most - length, length);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}
