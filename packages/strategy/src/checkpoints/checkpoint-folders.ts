import { CollError, RuntimeError } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { Disk, Files } from './disk.js';

const pattern = /^checkpoint-(\d{6,})$/;

/** The folders of all checkpoints in a folder, from the newest to the oldest. */
export async function checkpointFolders(disk: Disk, parent: string): Promise<string[]> {
  return (await numbersIn(disk, parent)).map((number) => disk.path.join(parent, nameOf(number)));
}

/**
 * Writes the files of a new checkpoint. After a crash at any time, the checkpoint is whole or ignored.
 * Returns its folder.
 * @throws RuntimeError that names the parent and what to do
 */
export async function writeCheckpointFolder(disk: Disk, parent: string, files: Files): Promise<string> {
  try {
    await disk.prepare(parent);
    const [newest = 0] = await numbersIn(disk, parent);
    const folder = disk.path.join(parent, nameOf(newest + 1));
    await disk.write(folder, files);
    return folder;
  } catch (cause) {
    // The errors of a page already say what to do.
    if (cause instanceof CollError) throw cause;
    const message = `cannot write a checkpoint into ${parent}: ${messageOf(cause)}`;
    const advice = 'pass a folder in which this program may create files, on a disk with free space';
    throw new RuntimeError('ERR_COLL_CHECKPOINT', `${message}; ${advice}`, { cause });
  }
}

/** Removes all but the newest checkpoints. */
export async function removeOlder(disk: Disk, folder: string, keep: number): Promise<void> {
  for (const each of (await checkpointFolders(disk, folder)).slice(keep)) await disk.remove(each);
}

/** The numbers of all checkpoints in a folder, from the newest to the oldest. */
async function numbersIn(disk: Disk, parent: string): Promise<number[]> {
  const numbers = (await disk.names(parent)).flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);
  return numbers.sort((a, b) => b - a);
}

function nameOf(number: number): string {
  return `checkpoint-${String(number).padStart(6, '0')}`;
}
