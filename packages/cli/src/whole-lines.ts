import { Transform, type TransformCallback } from 'node:stream';

const newline = 0x0a;

/** A longer line is cut here: a rank must not fill the memory of the launcher. */
const longestLineBytes = 16 * 2 ** 20;

/** Passes on whole lines only, each with a prefix. A last line without a newline gets one. */
export class WholeLines extends Transform {
  readonly #prefix: string;
  #begun: Buffer[] = [];
  #begunBytes = 0;

  /** @param prefix ASCII */
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

  /** Passes on the unfinished line, and what completes it. */
  #pass(end: Buffer): void {
    const lines = Buffer.concat([...this.#begun, end]);
    this.#begun = [];
    this.#begunBytes = 0;
    this.push(this.#prefix === '' ? lines : prefixed(lines, this.#prefix));
  }
}

// In latin1 a character is a byte, so that bytes which are not text pass unchanged.
function prefixed(lines: Buffer, prefix: string): Buffer {
  const text = lines.toString('latin1', 0, lines.length - 1);
  return Buffer.from(`${prefix}${text.replaceAll('\n', `\n${prefix}`)}\n`, 'latin1');
}
