const mostLines = 20;
const longestLineBytes = 2000;

/** Keeps the last lines of an output, so that they can be printed again after later output. */
export class LastLines {
  #lines: readonly Buffer[] = [];

  /** @param lines one or more complete lines, each with its newline */
  add(lines: Buffer): void {
    const latest: Buffer[] = [];
    let end = lines.length;
    while (end > 0 && latest.length < mostLines) {
      const begin = end < 2 ? 0 : lines.lastIndexOf('\n', end - 2) + 1;
      // Copies the line, because a view would keep the whole chunk in memory.
      latest.unshift(Buffer.from(lines.subarray(begin, Math.min(end - 1, begin + longestLineBytes))));
      end = begin;
    }
    this.#lines = [...this.#lines, ...latest].slice(-mostLines);
  }

  read(): readonly string[] {
    return this.#lines.map((line) => line.toString('utf8'));
  }
}
