import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { RuntimeError } from '@coll/core';
import { log, messageOf, quote } from '@coll/core/internal';
import { checkpointFolders, type Files, removeCheckpointFolder } from './checkpoint-folders.js';

/** The file that is written last, and describes all others. */
export const manifestName = 'checkpoint.json';

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
export function withManifest(files: Files, { format, version }: ManifestFormat, fields: object): Files {
  const entries: FileEntries = Object.fromEntries([...files].map(([name, bytes]) => [name, entryOf(bytes)]));
  const manifest = { format, version, ...fields, files: entries };
  return new Map([...files, [manifestName, new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`)]]);
}

function entryOf(bytes: Uint8Array): FileEntry {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/**
 * Reads the manifest of a checkpoint, whose fields may be anything.
 * @throws NotWhole if it is missing or damaged; RuntimeError if a newer release wrote it
 */
export async function readFields(
  folder: string,
  { format, version, reader }: ManifestFormat,
): Promise<Readonly<Record<string, unknown>>> {
  const file = path.join(folder, manifestName);
  const text = new TextDecoder().decode(await bytesIn(file));
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
export async function readEntries(folder: string, entries: FileEntries): Promise<Map<string, Uint8Array>> {
  const read = new Map<string, Uint8Array>();
  for (const [name, entry] of Object.entries(entries)) read.set(name, await bytesOfEntry(folder, name, entry));
  return read;
}

async function bytesOfEntry(folder: string, name: string, entry: unknown): Promise<Uint8Array> {
  const { bytes: expected, sha256 } = Object(entry) as Partial<FileEntry>;
  const file = path.join(folder, name);
  const bytes = await bytesIn(file, expected);
  if (entryOf(bytes).sha256 !== sha256) throw new NotWhole(`${file} does not have the checksum in ${manifestName}`);
  return bytes;
}

/** Reads a file. @param expected its length. Default: any up to 64 MiB */
async function bytesIn(file: string, expected?: number): Promise<Uint8Array> {
  try {
    const { size } = await stat(file);
    if (expected === undefined ? size > 2 ** 26 : size !== expected)
      throw new NotWhole(`${file} has ${size} bytes${expected === undefined ? '' : `, but ${expected} were written`}`);
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') throw new NotWhole(`${file} does not exist`);
    throw error;
  }
}

/**
 * The newest whole checkpoint in a folder, or the folder itself if it is a checkpoint. Logs a warning about damaged ones.
 * @param read throws NotWhole for a damaged checkpoint
 */
export async function newestWhole<Checkpoint>(
  folder: string,
  read: (folder: string) => Promise<Checkpoint>,
  isWanted: (checkpoint: Checkpoint) => boolean = () => true,
): Promise<{ readonly folder: string; readonly checkpoint: Checkpoint } | undefined> {
  const given = path.resolve(folder);
  const folders = /^checkpoint-\d+$/.test(path.basename(given)) ? [given] : await checkpointFolders(given);
  for (const each of folders) {
    try {
      const checkpoint = await read(each);
      if (isWanted(checkpoint)) return { folder: each, checkpoint };
    } catch (error) {
      if (!(error instanceof NotWhole)) throw error;
      log('warn', `skipped the checkpoint ${each}, which is not whole: ${error.message}`);
    }
  }
  return undefined;
}

/** Removes all but the newest checkpoints. */
export async function removeOlder(folder: string, keep: number): Promise<void> {
  for (const each of (await checkpointFolders(folder)).slice(keep)) await removeCheckpointFolder(each);
}
