import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The files in which Linux describes the machine and this process, below `root`: `/`, or a folder
 * with such files in tests.
 */
export class SystemFiles {
  readonly #root: string;

  constructor(root = '/') {
    this.#root = root;
  }

  /** The text of a file without spaces at its ends; undefined if the file cannot be read. */
  read(...parts: readonly string[]): string | undefined {
    try {
      return readFileSync(path.join(this.#root, ...parts), 'utf8').trim();
    } catch {
      return undefined;
    }
  }

  /** The names in a folder; none if the folder cannot be read. */
  names(...parts: readonly string[]): readonly string[] {
    try {
      return readdirSync(path.join(this.#root, ...parts));
    } catch {
      return [];
    }
  }
}
