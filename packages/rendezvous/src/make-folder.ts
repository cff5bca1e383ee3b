import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Creates a folder and its missing parents; other processes may do so at the same time. It goes
 * step by step, because the recursive `mkdir` of Node.js 20 retries endlessly in file systems such
 * as /proc.
 * @throws the system error if the folder cannot be created
 */
export function makeFolder(folder: string, mode?: number): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}
