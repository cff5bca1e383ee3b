import { createWriteStream, openSync, type WriteStream } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { makeFolder } from '@coll/rendezvous/internal';
import { LastLines } from './last-lines.js';
import { WholeLines } from './whole-lines.js';

/** Opens the log file of a rank. @throws ValueError if it cannot be written */
export function openLog(folder: string, rank: number, restart: number): WriteStream {
  const file = path.join(folder, `rank-${rank}${restart === 0 ? '' : `.restart-${restart}`}.log`);
  try {
    makeFolder(path.resolve(folder));
    return createWriteStream(file, { fd: openSync(file, 'w') });
  } catch (cause) {
    throw new ValueError('ERR_COLL_VALUE', `--log-dir: ${quote(file)} cannot be written: ${cause}`, { cause });
  }
}

const lookEveryMillis = 10;
const silentLooks = 50;

/** Copies the output of a rank to the launcher's own output and to the log file. */
export class RankOutput {
  /** The last lines that the rank has printed on stderr. */
  readonly lastLines = new LastLines();
  readonly #sources: Socket[] = [];
  readonly #lines: WholeLines[] = [];
  #stderr: WholeLines | undefined;
  readonly #prefix: string;
  readonly #log: WriteStream | undefined;
  readonly #readers = new Set<Writable>();

  constructor(prefix: string, log: WriteStream | undefined) {
    this.#prefix = prefix;
    this.#log = log;
  }

  show(stdout: Readable | null, stderr: Readable | null): void {
    this.#pass(stdout, process.stdout);
    this.#pass(stderr, process.stderr);
    this.#stderr = stderr?.pipe(this.#newLines('')).on('data', (lines: Buffer) => this.lastLines.add(lines));
  }

  /**
   * Whether the last lines of the rank on stderr report that a peer failed or has left the group.
   * Call this method after the process has ended.
   */
  async tellsOfPeer(): Promise<boolean> {
    // Does not wait for long, because descendants may keep the pipe open.
    for (let look = 0; look < silentLooks && this.#stderr && !isOver(this.#stderr); look++) await nextLook();
    return this.lastLines.read().some((line) => /ERR_COLL_(PEER_FAILED|CLOSED)/.test(line));
  }

  /**
   * The peer that the rank has lost, according to its last lines on stderr; undefined unless they
   * contain the fields of an uncaught error as printed by Node.js.
   */
  get lostPeer(): number | undefined {
    const found = /code: 'ERR_COLL_PEER_FAILED',\s+rank: (\d+)/.exec(this.lastLines.read().join('\n'));
    return found ? Number(found[1]) : undefined;
  }

  /**
   * Waits until all output is written, or `unread` is aborted. Call this method after the processes
   * have ended.
   */
  async end(unread: AbortSignal): Promise<void> {
    // A process that has left the group may hold the pipe open forever.
    for (let silent = 0, before = -1; silent < silentLooks && !unread.aborted && !this.#isPrinted(); ) {
      await nextLook();
      const now = this.#sources.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      silent = now === before && !this.#isBehind() ? silent + 1 : 0;
      before = now;
    }
    for (const source of this.#sources) source.unpipe().destroy();
    for (const lines of this.#lines) lines.end();
    this.#log?.end();
  }

  #isPrinted(): boolean {
    return this.#lines.every(isOver) && !this.#isBehind();
  }

  /** Whether output was written that its reader has not taken yet. */
  #isBehind(): boolean {
    return [...this.#readers].some(({ writableLength }) => writableLength > 0);
  }

  #pass(from: Readable | null, screen: Writable): void {
    if (!from) return;
    this.#sources.push(from as Socket);
    this.#send(from, this.#prefix, screen);
    if (this.#log) this.#send(from, '', this.#log);
  }

  #send(from: Readable, prefix: string, to: Writable): void {
    const lines = this.#newLines(prefix);
    from.pipe(lines).pipe(to, { end: false });
    this.#readers.add(to);
    to.once('error', () => {
      this.#readers.delete(to);
      // Discards further output, so that the rank does not wait for a reader that is gone.
      lines.resume();
    });
  }

  #newLines(prefix: string): WholeLines {
    const lines = new WholeLines(prefix);
    this.#lines.push(lines);
    return lines;
  }
}

function nextLook(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, lookEveryMillis));
}

function isOver(lines: WholeLines): boolean {
  return lines.readableEnded;
}
