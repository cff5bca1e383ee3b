import { RuntimeError, ValueError } from '@coll/core';
import { messageOf, quote } from '@coll/core/internal';
import {
  type Files,
  manifestName,
  NotWhole,
  newestWhole,
  pageDisk,
  type ReadableDisk,
  requireFolder,
  writeCheckpointFolder,
} from '@coll/strategy/internal';
import { filesOfCheckpoint } from '../checkpoints/checkpoint-format.js';

/**
 * Copies the newest whole checkpoint of a folder in the origin private file system to files that a
 * person can save: `checkpoint.json`, `model.json`, `weights.bin`, and `optimizer.bin` if there is an
 * optimizer. `restoreCheckpoint` of `@coll/tfjs/node` restores a folder with these files. Needs no
 * replica, and may run in the page while workers train.
 * @param folder the folder that was passed to `saveCheckpoint`, or the path of one checkpoint
 * @throws ValueError unless `folder` is a path; RuntimeError if the folder has no whole checkpoint, or
 * the browser has no such file system
 *
 * @example
 * ```ts
 * import { exportCheckpoint } from '@coll/tfjs/page';
 *
 * const files = await exportCheckpoint('line');
 * console.log(files.map(({ name }) => name).join(' ')); // weights.bin model.json optimizer.bin checkpoint.json
 * ```
 */
export async function exportCheckpoint(folder: string): Promise<File[]> {
  const operation = 'exportCheckpoint';
  requireFolder(folder, 'exportCheckpoint(folder)');
  const newest = await newestWhole(pageDisk, folder, filesOfCheckpoint);
  if (!newest) throw failed(`${operation}: ${quote(folder)} has no whole checkpoint`);
  return [...newest.checkpoint].map(([name, bytes]) => new File([bytes as Uint8Array<ArrayBuffer>], name));
}

/**
 * Writes the files of a checkpoint, which `exportCheckpoint` or Node.js has written, to a folder in the
 * origin private file system, as its newest checkpoint. Returns the path of the checkpoint. Needs no
 * replica.
 * @param folder created if it does not exist
 * @param files the files of one checkpoint by their original names, for example `input.files` of an
 * `<input type="file" multiple>`; other files are ignored
 * @throws ValueError for invalid arguments; RuntimeError if the files are not a whole checkpoint, the
 * browser has no such file system, or the storage is full
 *
 * @example
 * ```ts
 * import { exportCheckpoint, importCheckpoint } from '@coll/tfjs/page';
 *
 * console.log(await importCheckpoint('copy', await exportCheckpoint('line'))); // /copy/checkpoint-000001
 * ```
 */
export async function importCheckpoint(folder: string, files: Iterable<File>): Promise<string> {
  const operation = 'importCheckpoint';
  requireFolder(folder, 'importCheckpoint(folder, files)');
  const given = new Map<string, Uint8Array>();
  for (const file of requireFiles(files, operation)) given.set(file.name, new Uint8Array(await file.arrayBuffer()));
  return await writeCheckpointFolder(pageDisk, pageDisk.path.resolve(folder), await wholeOf(given, operation));
}

/** The files of a checkpoint, which are whole. */
async function wholeOf(given: Files, operation: string): Promise<Files> {
  const disk: ReadableDisk = {
    path: { ...pageDisk.path, join: (_, name) => name },
    sha256: pageDisk.sha256,
    async read(name, requireSize) {
      const bytes = given.get(name);
      if (bytes) requireSize(bytes.length);
      return bytes;
    },
  };
  try {
    return await filesOfCheckpoint(disk, 'the checkpoint');
  } catch (error) {
    if (!(error instanceof NotWhole)) throw error;
    const names = [...given.keys()].join(', ') || 'none';
    const message = `the files are not a whole checkpoint: ${messageOf(error)}`;
    throw failed(`${operation}: ${message}; pass ${manifestName} and all files beside it, got ${names}`, error);
  }
}

function requireFiles(files: unknown, operation: string): readonly File[] {
  const list = typeof Object(files)[Symbol.iterator] === 'function' ? [...(files as Iterable<File>)] : undefined;
  if (list?.every((file) => typeof Object(file).name === 'string' && typeof Object(file).arrayBuffer === 'function'))
    return list;
  const message = `files must be a list of files, for example input.files, got ${quote(files)}`;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
}

function failed(message: string, cause?: unknown): RuntimeError {
  return new RuntimeError('ERR_COLL_CHECKPOINT', message, { cause });
}
