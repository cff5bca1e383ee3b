import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { Environment } from './launchers/environment.js';

const mostBytes = 4096;

/**
 * The job key of this process: the text in the file `COLL_JOB_KEY_FILE`, without white space around
 * it, else `COLL_JOB_KEY`; undefined if neither variable is set.
 * @throws the errors of `readJobKey`
 */
export function jobKeyFromEnvironment(environment: Environment = process.env): string | undefined {
  const path = environment['COLL_JOB_KEY_FILE'];
  return path ? readJobKey(path) : environment['COLL_JOB_KEY'] || undefined;
}

/**
 * Reads a job key from a file that only its owner can read; the group of a file of root can read it,
 * too, as in volumes of Kubernetes Secrets. Windows has no such permissions, so none are demanded.
 * @throws ValueError (ERR_COLL_CLUSTER) if the file cannot be read, or if other users can read it
 */
export function readJobKey(path: string): string {
  // One descriptor, so that the file whose permissions are examined is the one that is read.
  const file = opened(path);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw refused(path, 'is not a file', 'create it with `npx coll key --out FILE`');
    requirePrivate(path, status);
    const bytes = Buffer.alloc(mostBytes);
    return bytes.toString('utf8', 0, readSync(file, bytes)).trim();
  } finally {
    closeSync(file);
  }
}

function opened(path: string): number {
  try {
    // A FIFO would block.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw refused(path, `cannot be opened (${(error as Error).message})`, 'create it with `npx coll key --out FILE`');
  }
}

function requirePrivate(path: string, { mode, uid }: Stats): void {
  const forbidden = uid === 0 ? 0o037 : 0o077;
  if (process.getuid === undefined || (mode & forbidden) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(3, '0');
  throw refused(path, `can be read by other users (mode ${found})`, `chmod 600 ${path}, and make a new key`);
}

function refused(path: string, problem: string, advice: string): ValueError {
  return new ValueError('ERR_COLL_CLUSTER', `the file of the job key, ${quote(path)}, ${problem}: ${advice}`);
}
