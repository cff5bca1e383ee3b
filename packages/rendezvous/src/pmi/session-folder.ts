import { lstatSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Environment } from '../launchers/environment.js';

/**
 * The folder that the launcher of a PMIx job has made for it on this host, and removes when the job
 * ends; undefined unless only this user can enter it.
 */
export function sessionFile(environment: Environment): string | undefined {
  const { PMIX_SERVER_TMPDIR: folder, PMIX_NAMESPACE: job } = environment;
  if (!folder || !job || process.getuid === undefined) return undefined;
  try {
    const found = lstatSync(path.resolve(folder));
    const isPrivate = found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o077) === 0;
    return isPrivate ? path.join(folder, `coll-${encodeURIComponent(job)}`) : undefined;
  } catch {
    return undefined;
  }
}

const lookMillis = 10;
const mostBytes = 4096;

/**
 * Writes rank 0's text to a file of the session, or waits for it.
 * @throws the reason of the signal if it aborts
 */
export async function exchangeByFile(file: string, text: string | undefined, signal: AbortSignal): Promise<string> {
  if (text !== undefined) {
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    // Readers find the whole text or none.
    renameSync(`${file}.new`, file);
    return text;
  }
  for (;;) {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found && found.size <= mostBytes) return readFileSync(file, 'utf8');
    await pause(lookMillis, undefined, { signal });
  }
}
