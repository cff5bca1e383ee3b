import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Creates a folder and its missing parents, even if other processes do the same. Creates one level
 * at a time, because the recursive `mkdir` of Node.js 20 retries endlessly in file systems such as
 * /proc.
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
