import { writeFileSync } from 'node:fs';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { TcpStoreServer } from '@coll/rendezvous';
import type { KeyRequest } from './arguments.js';

/**
 * Prints a new job key, or writes it to a new file that only this user can read.
 * @throws ValueError if the file exists or cannot be written
 */
export function makeKey({ keyOut }: KeyRequest): void {
  const line = `${TcpStoreServer.newKey()}\n`;
  if (keyOut === undefined) {
    process.stdout.write(line);
    return;
  }
  try {
    writeFileSync(keyOut, line, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const problem = `cannot write a new file ${quote(keyOut)} (${(error as Error).message})`;
    throw new ValueError('ERR_COLL_VALUE', `${problem}: name a file that does not exist, in a folder of yours`);
  }
}
