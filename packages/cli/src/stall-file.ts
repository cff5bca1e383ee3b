import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ValueError } from '@coll/core';

const mostBytesAtOnce = 64 * 1024;

/**
 * A file to which ranks append lines, even while their JavaScript threads are blocked. Only the
 * current user has access.
 */
export class StallFile implements Disposable {
  readonly folder = newFolder();
  readonly path = path.join(this.folder, 'stalls');
  readonly #descriptor = openSync(this.path, 'a+', 0o600);
  readonly #bytes = Buffer.alloc(mostBytesAtOnce);
  #offset = 0;
  #rest = '';

  /** Returns the lines that were added since the last call of this method. */
  lines(): readonly string[] {
    for (let count = 1; count > 0; ) {
      count = readSync(this.#descriptor, this.#bytes, 0, mostBytesAtOnce, this.#offset);
      this.#offset += count;
      this.#rest += this.#bytes.toString('utf8', 0, count);
    }
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Creates a temporary folder. @throws ValueError if temporary files cannot be written */
function newFolder(): string {
  try {
    return mkdtempSync(path.join(tmpdir(), 'coll-run-'));
  } catch (cause) {
    const message = `cannot write temporary files: ${(cause as Error).message}`;
    throw new ValueError('ERR_COLL_VALUE', `${message}: set TMPDIR to a writable folder`, { cause });
  }
}
