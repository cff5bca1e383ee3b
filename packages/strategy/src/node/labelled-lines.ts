/** Puts a label before each line of the text that one stream prints. */
export class LabelledLines {
  readonly #label: string;
  #isAtStart = true;

  /** @param label ASCII characters, for example `[2] ` */
  constructor(label: string) {
    this.#label = label;
  }

  /** The next bytes of the stream, with labels. A line may consist of several chunks. */
  label(chunk: Buffer): Buffer {
    if (chunk.length === 0 || this.#label === '') return chunk;
    // latin1 maps each byte to one character, so bytes that are not valid text pass unchanged.
    const text = chunk.toString('latin1');
    const first = this.#isAtStart ? this.#label : '';
    this.#isAtStart = text.endsWith('\n');
    return Buffer.from(first + text.replaceAll(/\n(?!$)/g, `\n${this.#label}`), 'latin1');
  }
}

/**
 * The label of a replica's output: its number, after the rank of its process if the environment has one. Empty with
 * `COLL_PREFIX=0`.
 */
export function labelOf(replica: number, environment: Readonly<Record<string, string | undefined>>): string {
  const { COLL_PREFIX: prefix, COLL_RANK: rank } = environment;
  if (prefix === '0') return '';
  return rank === undefined || rank === '' ? `[${replica}] ` : `[${rank}.${replica}] `;
}

/** Whether this is a text that a library prints in each thread, but that is about the whole program. */
export function isBanner(text: string): boolean {
  return /^\n=+\nHi, looks like you are running TensorFlow\.js/.test(text);
}
