import { Transform, type TransformCallback } from 'node:stream';

const newline = 0x0a;

/**
 * Maximum length of a line in bytes. Longer lines are split, so that a rank cannot exhaust the
 * launcher's memory.
 */
const longestLineBytes = 16 * 2 ** 20;

/**
 * Forwards complete lines only, each with a prefix. Adds a newline to the last line if it has none.
 */
export class WholeLines extends Transform {
  readonly #prefix: string;
  #begun: Buffer[] = [];
  #begunBytes = 0;

  /** @param prefix ASCII characters to put before each line */
  constructor(prefix = '') {
    super();
    this.#prefix = prefix;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) this.#pass(chunk.subarray(0, end));
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#begunBytes > 0) this.#pass(Buffer.of(newline));
    done();
  }

  #keep(part: Buffer): void {
    this.#begun.push(part);
    this.#begunBytes += part.length;
    if (this.#begunBytes > longestLineBytes) this.#pass(Buffer.of(newline));
  }

  /** Forwards the unfinished line, after adding `end` to it. */
  #pass(end: Buffer): void {
    const lines = Buffer.concat([...this.#begun, end]);
    this.#begun = [];
    this.#begunBytes = 0;
    this.push(this.#prefix === '' ? lines : prefixed(lines, this.#prefix));
  }
}

// latin1 maps each byte to one character, so bytes that are not valid text pass unchanged.
function prefixed(lines: Buffer, prefix: string): Buffer {
  const text = lines.toString('latin1', 0, lines.length - 1);
  const labelled = text.split('\n').map((line) => (isLabelled(line, prefix) ? line : prefix + line));
  return Buffer.from(`${labelled.join('\n')}\n`, 'latin1');
}

/** Whether the line already has the number of a replica in a thread, such as `[1.2] ` for the prefix `[1] `. */
function isLabelled(line: string, prefix: string): boolean {
  const rank = prefix.slice(0, -2);
  return line.startsWith(`${rank}.`) && /^\.\d+\] /.test(line.slice(rank.length));
}
