import { createWriteStream, existsSync, mkdirSync, openSync, type WriteStream } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { quote, ValueError } from '@coll/core';
import { LastLines } from './last-lines.js';
import { WholeLines } from './whole-lines.js';

/** Opens the file that gets the output of a rank. @throws ValueError where it cannot be written */
export function openLog(folder: string, rank: number, restart: number): WriteStream {
  const file = path.join(folder, `rank-${rank}${restart === 0 ? '' : `.restart-${restart}`}.log`);
  try {
    makeFolder(path.resolve(folder));
    return createWriteStream(file, { fd: openSync(file, 'w') });
  } catch (cause) {
    throw new ValueError('ERR_COLL_VALUE', `--log-dir: ${quote(file)} cannot be written: ${cause}`, { cause });
  }
}

/** Step by step: in file systems such as /proc, the recursive `mkdir` of Node 20 tries again for ever. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another launcher may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

const lookEveryMillis = 10;
const silentLooks = 50;

/** What a rank prints, on its way to where the launcher prints, and to the log. */
export class RankOutput {
  /** Of stderr. */
  readonly lastLines = new LastLines();
  readonly #sources: Socket[] = [];
  readonly #lines: WholeLines[] = [];
  readonly #prefix: string;
  readonly #log: WriteStream | undefined;
  /** Nobody reads what the launcher prints. */
  #isBroken = false;

  constructor(prefix: string, log: WriteStream | undefined) {
    this.#prefix = prefix;
    this.#log = log;
  }

  show(stdout: Readable | null, stderr: Readable | null): void {
    this.#pass(stdout, process.stdout);
    this.#pass(stderr, process.stderr);
    stderr?.pipe(this.#newLines('')).on('data', (lines: Buffer) => this.lastLines.add(lines));
  }

  /** When the processes have ended: waits until all that they printed is where it belongs. */
  async end(): Promise<void> {
    // Somebody who has left the group may hold the pipe open for ever.
    for (let silent = 0, before = -1; silent < silentLooks && !this.#lines.every(isOver); ) {
      await new Promise((resolve) => setTimeout(resolve, lookEveryMillis));
      const now = this.#sources.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      const isSlow = !this.#isBroken && (process.stdout.writableNeedDrain || process.stderr.writableNeedDrain);
      silent = now === before && !isSlow ? silent + 1 : 0;
      before = now;
    }
    for (const source of this.#sources) source.unpipe().destroy();
    for (const lines of this.#lines) lines.end();
    this.#log?.end();
  }

  #pass(from: Readable | null, screen: Writable): void {
    if (!from) return;
    this.#sources.push(from as Socket);
    screen.once('error', () => {
      this.#isBroken = true;
    });
    this.#send(from, this.#prefix, screen);
    if (this.#log) this.#send(from, '', this.#log);
  }

  #send(from: Readable, prefix: string, to: Writable): void {
    const lines = this.#newLines(prefix);
    from.pipe(lines).pipe(to, { end: false });
    // A rank that prints does not wait for somebody who reads no more.
    to.once('error', () => lines.resume());
  }

  #newLines(prefix: string): WholeLines {
    const lines = new WholeLines(prefix);
    this.#lines.push(lines);
    return lines;
  }
}

function isOver(lines: WholeLines): boolean {
  return lines.readableEnded;
}
