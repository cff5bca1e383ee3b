import { RuntimeError } from '@coll/core';
import { log, messageOf, quote } from '@coll/core/internal';
import { checkpointFolders } from './checkpoint-folders.js';
import type { Disk, Files } from './disk.js';

/** The file that is written last, and describes all others. */
export const manifestName = 'checkpoint.json';

/** The part of a disk that reads a checkpoint. */
export type ReadableDisk = Pick<Disk, 'path' | 'read' | 'sha256'>;

/** What a manifest says it is, and the package that reads it. */
export interface ManifestFormat {
  readonly format: string;
  readonly version: number;
  readonly reader: string;
}

/** A file of a checkpoint. */
interface FileEntry {
  readonly bytes: number;
  readonly sha256: string;
}

/** The entry of each file in a manifest, by its name. */
export type FileEntries = Readonly<Record<string, FileEntry>>;

/** A checkpoint that a crash or a disk has damaged, or that is something else. */
export class NotWhole extends Error {}

/** These files and their manifest, which is the last one. @param fields what else the manifest says */
export async function withManifest(
  disk: Pick<Disk, 'sha256'>,
  files: Files,
  { format, version }: ManifestFormat,
  fields: object,
): Promise<Files> {
  const entries: Record<string, FileEntry> = {};
  for (const [name, bytes] of files) entries[name] = { bytes: bytes.length, sha256: await disk.sha256(bytes) };
  const manifest = { format, version, ...fields, files: entries };
  return new Map([...files, [manifestName, new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`)]]);
}

/**
 * Reads the manifest of a checkpoint, whose fields may be anything.
 * @throws NotWhole if it is missing or damaged; RuntimeError if a newer release wrote it
 */
export async function readFields(
  disk: ReadableDisk,
  folder: string,
  { format, version, reader }: ManifestFormat,
): Promise<Readonly<Record<string, unknown>>> {
  const file = disk.path.join(folder, manifestName);
  const text = new TextDecoder().decode(await bytesIn(disk, file));
  let value: Readonly<Record<string, unknown>>;
  try {
    value = Object(JSON.parse(text));
  } catch (error) {
    throw new NotWhole(`${file} is not JSON: ${messageOf(error)}`);
  }
  if (value['format'] !== format) throw new NotWhole(`${file} does not describe a checkpoint of ${reader}`);
  if (value['version'] !== version) {
    const message = `${file} has version ${quote(value['version'])}, but this release of ${reader} reads version ${version}`;
    throw new RuntimeError('ERR_COLL_CHECKPOINT', message);
  }
  return value;
}

/**
 * Reads the files of a checkpoint.
 * @throws NotWhole if one is missing or differs from what was written
 */
export async function readEntries(
  disk: ReadableDisk,
  folder: string,
  entries: FileEntries,
): Promise<Map<string, Uint8Array>> {
  const read = new Map<string, Uint8Array>();
  for (const [name, entry] of Object.entries(entries)) {
    read.set(name, await bytesOfEntry(disk, disk.path.join(folder, name), entry));
  }
  return read;
}

async function bytesOfEntry(disk: ReadableDisk, file: string, entry: unknown): Promise<Uint8Array> {
  const { bytes: expected, sha256 } = Object(entry) as Partial<FileEntry>;
  const bytes = await bytesIn(disk, file, expected);
  if ((await disk.sha256(bytes)) !== sha256)
    throw new NotWhole(`${file} does not have the checksum in ${manifestName}`);
  return bytes;
}

/** Reads a file. @param expected its length. Default: any up to 64 MiB */
async function bytesIn(disk: ReadableDisk, file: string, expected?: number): Promise<Uint8Array> {
  const bytes = await disk.read(file, (size) => {
    if (expected === undefined ? size > 2 ** 26 : size !== expected)
      throw new NotWhole(`${file} has ${size} bytes${expected === undefined ? '' : `, but ${expected} were written`}`);
  });
  if (!bytes) throw new NotWhole(`${file} does not exist`);
  return bytes;
}

/** The bytes of all parts, one after the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * The newest whole checkpoint in a folder, or the folder itself if it is a checkpoint. Logs a warning about damaged ones.
 * @param read throws NotWhole for a damaged checkpoint
 */
export async function newestWhole<Checkpoint>(
  disk: Disk,
  folder: string,
  read: (disk: Disk, folder: string) => Promise<Checkpoint>,
  isWanted: (checkpoint: Checkpoint) => boolean = () => true,
): Promise<{ readonly folder: string; readonly checkpoint: Checkpoint } | undefined> {
  const given = disk.path.resolve(folder);
  const isOne = /^checkpoint-\d+$/.test(disk.path.basename(given));
  const folders = isOne ? [given] : await checkpointFolders(disk, given);
  for (const each of folders) {
    try {
      const checkpoint = await read(disk, each);
      if (isWanted(checkpoint)) return { folder: each, checkpoint };
    } catch (error) {
      if (!(error instanceof NotWhole)) throw error;
      log('warn', `skipped the checkpoint ${each}, which is not whole: ${error.message}`);
    }
  }
  return undefined;
}
