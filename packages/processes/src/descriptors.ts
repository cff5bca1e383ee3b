import { closeSync, openSync } from 'node:fs';
import { RuntimeError } from '@coll/core';
import type { MemberConfig } from './member-config.js';

const probeMillis = 100;
// Other members notice after 0.9 seconds that a connection is not replaced, and then report that
// this process has exited.
const mostMillis = 300;
// Other members retry at shorter intervals than this.
const forgottenMillis = 1000;

/**
 * Detects that this process cannot open any files while a group opens, because too many are open.
 * Calls `fail` once if that lasts for some tenths of a second. The other members could not learn
 * the reason otherwise: the system closes their new connections before this process sees them.
 */
export class Descriptors {
  readonly #member: MemberConfig;
  readonly #fail: (error: RuntimeError) => void;
  readonly #timer: NodeJS.Timeout;
  #firstMiss: number | undefined;
  #lastMiss = 0;

  constructor(member: MemberConfig, fail: (error: RuntimeError) => void) {
    this.#member = member;
    this.#fail = fail;
    this.#timer = setInterval(() => this.#probe(), probeMillis);
  }

  /** Records that a connection was taken over from Node.js. */
  opened(): void {
    this.#firstMiss = undefined;
  }

  /**
   * Records that a connection could not be taken over from Node.js. The failure counts only if this
   * process cannot open any file at this moment. Failures that follow each other within a second
   * add up, even if a file can be opened in between.
   */
  missed(): void {
    const why = whyNoneOpens();
    if (why) this.#miss(why);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #probe(): void {
    const why = whyNoneOpens();
    if (why) this.#miss(why);
    else if (performance.now() - this.#lastMiss > forgottenMillis) this.#firstMiss = undefined;
  }

  #miss(why: NodeJS.ErrnoException): void {
    this.#lastMiss = performance.now();
    this.#firstMiss ??= this.#lastMiss;
    if (this.#lastMiss - this.#firstMiss < mostMillis) return;
    this.end();
    this.#fail(tooFew(this.#member, why));
  }
}

function whyNoneOpens(): NodeJS.ErrnoException | undefined {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Other errors are unrelated to connections.
    return code === 'EMFILE' || code === 'ENFILE' ? (error as NodeJS.ErrnoException) : undefined;
  }
}

function tooFew({ rank, size }: MemberConfig, cause: NodeJS.ErrnoException): RuntimeError {
  const message = `rank ${rank} cannot open a group of ${size}: it has too many open files (${cause.code})`;
  const advice = 'raise the limit before you start the process: ulimit -n 4096';
  return new RuntimeError('ERR_COLL_CLUSTER', `${message}; ${advice}`, { rank, operation: 'open a group', cause });
}
