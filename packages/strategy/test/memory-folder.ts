import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Creates a folder, in memory if possible: a disk takes milliseconds to flush each file. */
export function memoryFolder(): Promise<string> {
  return mkdtemp(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'coll-checkpoints-'));
}
