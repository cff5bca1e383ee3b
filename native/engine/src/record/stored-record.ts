import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { noteKinds, recordEnds, recordLayout } from '@coll/core/internal';

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

/** The parts of a record that decide how long it is kept. */
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
  /** Bytes of the file. */
  readonly bytes: number;
}

/** The records in a folder; none if the folder cannot be read. */
export function storedRecords(folder: string): readonly StoredRecord[] {
  return namesIn(folder).flatMap((name) => {
    const matched = namePattern.exec(name);
    if (!matched) return [];
    const [, pid = '', process = ''] = matched;
    const file = path.join(folder, name);
    const bytes = readTables(file);
    return bytes === undefined ? [] : [storedRecord({ path: file, pid: Number(pid), process, bytes })];
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
export function markClosed(record: StoredRecord): void {
  writeField(record, 'end', recordEnds.indexOf('closed'));
}

/** Marks the record of a process that has ended by itself. `exitCode`: as a shell reports it */
export function markEnded(record: StoredRecord, exitCode: number): void {
  writeField(record, 'endedWith', 1 + exitCode);
}

function writeField({ path: file }: StoredRecord, field: 'end' | 'endedWith', value: number): void {
  const descriptor = openSync(file, constants.O_RDWR | noLinks);
  try {
    const bytes = new DataView(new ArrayBuffer(4));
    bytes.setInt32(0, value, little);
    writeSync(descriptor, bytes, 0, 4, header.fields[field]);
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

/** The tables of the record that was read last. A folder may contain hundreds, for which new memory would take long. */
const tables = new DataView(new ArrayBuffer(tableBytes));

/** Reads the bytes before the calls. Returns the size of the file; undefined if it cannot be read. */
function readTables(file: string): number | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | noLinks);
  } catch {
    return undefined;
  }
  try {
    const read = readSync(descriptor, tables, 0, tableBytes, 0);
    new Uint8Array(tables.buffer).fill(0, read);
    return fstatSync(descriptor).size;
  } finally {
    closeSync(descriptor);
  }
}

function storedRecord(name: Pick<StoredRecord, 'path' | 'pid' | 'process' | 'bytes'>): StoredRecord {
  const { fields, texts } = header;
  const seen = (field: 'begunWall' | 'aliveWall') => tables.getFloat64(fields[field], little);
  const { group } = communicator.fields;
  return {
    ...name,
    job: textAt(fields.job, texts.job),
    end: recordEnds[tables.getInt32(fields.end, little)] ?? 'open',
    hasFailure: entriesOf(note, noteBegin).some(
      (begin) => tables.getInt32(begin + note.fields.kind, little) === failure,
    ),
    groups: entriesOf(communicator, header.bytes).map((begin) => textAt(begin + group, communicator.texts.group)),
    lastSeen: Math.max(seen('begunWall'), seen('aliveWall')),
  };
}

const failure = noteKinds.indexOf('failure');

/** Where the entries of a table begin that have been written. */
function entriesOf({ bytes, length }: { readonly bytes: number; readonly length: number }, first: number): number[] {
  const begins: number[] = [];
  for (let begin = first; begin < first + bytes * length; begin += bytes) {
    if (tables.getInt32(begin, little) !== 0) begins.push(begin);
  }
  return begins;
}

const decoder = new TextDecoder();

function textAt(at: number, most: number): string {
  const bytes = new Uint8Array(tables.buffer, at, most);
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}
