import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { noteKinds, recordEnds, recordLayout } from '@coll/core/internal';

/** What decides how long a record is kept. */
export interface StoredRecord {
  readonly path: string;
  readonly pid: number;
  /** Random; equal for all threads of a process. */
  readonly process: string;
  /** The job of the process; empty if it has none. */
  readonly job: string;
  readonly end: (typeof recordEnds)[number];
  /** Whether a group of the thread has failed. */
  readonly hasFailure: boolean;
  /** The ids of the latest groups of the thread. */
  readonly groups: readonly string[];
  /** When the process was last seen running, in milliseconds since 1970. */
  readonly lastSeen: number;
  readonly bytes: number;
}

const { header, communicator, note } = recordLayout;
const noteBegin = header.bytes + communicator.bytes * communicator.length;
/** Bytes of everything but the calls. */
const tableBytes = noteBegin + note.bytes * note.length;
const namePattern = /^(\d+)-([0-9a-f]{16})-\d+\.coll$/;
/** Numbers are little-endian. */
const little = true;

/** The name of the file with the record of a thread. */
export function recordName(pid: number, process: string, thread: number): string {
  return `${pid}-${process}-${thread}.coll`;
}

/** The records in a folder; none if the folder cannot be read. */
export function storedRecords(folder: string): readonly StoredRecord[] {
  return namesIn(folder).flatMap((name) => {
    const matched = namePattern.exec(name);
    if (!matched) return [];
    const [, pid = '', process = ''] = matched;
    const file = path.join(folder, name);
    const tables = readTables(file);
    return tables ? [storedRecord({ path: file, pid: Number(pid), process }, tables)] : [];
  });
}

/** Whether the thread has ended well, and so have its groups. */
export function hasEndedWell({ end, hasFailure }: StoredRecord): boolean {
  return end === 'closed' && !hasFailure;
}

/** The records that are connected with `some`: of the same process, or of a process with a common group, and so on. */
export function jobOf(some: readonly StoredRecord[], all: readonly StoredRecord[]): readonly StoredRecord[] {
  const known = new Set(some.flatMap(keysOf));
  let found = some;
  for (;;) {
    const next = all.filter((record) => keysOf(record).some((key) => known.has(key)));
    if (next.length === found.length) return next;
    for (const key of next.flatMap(keysOf)) known.add(key);
    found = next;
  }
}

/** Removes files, also those that another process removes at the same time. */
export function removeRecords(records: readonly Pick<StoredRecord, 'path'>[]): void {
  for (const record of records) rmSync(record.path, { force: true });
}

/** Marks the record of a thread that has ended with its process, without failing. */
export function markClosed({ path: file }: StoredRecord): void {
  const descriptor = openSync(file, constants.O_RDWR | noLinks);
  try {
    const end = new DataView(new ArrayBuffer(4));
    end.setInt32(0, recordEnds.indexOf('closed'), little);
    writeSync(descriptor, end, 0, 4, header.fields.end);
  } finally {
    closeSync(descriptor);
  }
}

/** Flag of files that must not be links; 0 on Windows, where it does not exist. */
export const noLinks = constants.O_NOFOLLOW ?? 0;

const keysOf = ({ process, groups }: StoredRecord): readonly string[] => [process, ...groups];

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The bytes before the calls, and the size of the file; undefined if the file cannot be read. */
function readTables(file: string): { readonly view: DataView; readonly size: number } | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | noLinks);
  } catch {
    return undefined;
  }
  try {
    const view = new DataView(new ArrayBuffer(tableBytes));
    readSync(descriptor, view, 0, tableBytes, 0);
    return { view, size: fstatSync(descriptor).size };
  } finally {
    closeSync(descriptor);
  }
}

function storedRecord(
  name: Pick<StoredRecord, 'path' | 'pid' | 'process'>,
  { view, size }: { readonly view: DataView; readonly size: number },
): StoredRecord {
  const { fields, texts } = header;
  const seen = (field: 'begunWall' | 'aliveWall') => view.getFloat64(fields[field], little);
  return {
    ...name,
    job: textAt(view, fields.job, texts.job),
    end: recordEnds[view.getInt32(fields.end, little)] ?? 'open',
    hasFailure: noteEntries().some((begin) => view.getInt32(begin + note.fields.kind, little) === failure),
    groups: communicatorEntries()
      .map((begin) => textAt(view, begin + communicator.fields.group, communicator.texts.group))
      .filter((group) => group !== ''),
    lastSeen: Math.max(seen('begunWall'), seen('aliveWall')),
    bytes: size,
  };
}

const failure = noteKinds.indexOf('failure');
const noteEntries = () => Array.from({ length: note.length }, (_, entry) => noteBegin + entry * note.bytes);
const communicatorEntries = () =>
  Array.from({ length: communicator.length }, (_, entry) => header.bytes + entry * communicator.bytes);
const decoder = new TextDecoder();

function textAt(view: DataView, at: number, most: number): string {
  const bytes = new Uint8Array(view.buffer, at, most);
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}
