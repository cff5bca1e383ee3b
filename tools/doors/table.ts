/**
 * A table of the page on runtimes. Its columns are ways to use the library, such as a version of Node or an installer. Its rows are
 * things that a user does there. `npm run doors` runs every cell.
 */
export interface Table {
  /** The name of the table on the page, and on the command line. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly string[];
  /** Installs what a column needs. */
  open(column: string, workplace: Workplace): Promise<Door>;
}

/** A column that is ready to run. */
export interface Door {
  /** The exact version, such as `22.23.5`. */
  readonly version: string;
  run(row: string): Promise<Outcome>;
}

/** What happened in a cell. */
export interface Outcome {
  /**
   * `ok`: the program ran, and its numbers are right. `refused`: coll threw an error with a code. `impossible`: the runtime lacks what
   * the program needs, and coll is not involved. `failed`: anything else, which is a bug.
   */
  readonly result: 'ok' | 'refused' | 'impossible' | 'failed';
  /** The code of the error of coll. */
  readonly code?: string | undefined;
  /** Why the result is not `ok`. The page prints it below the table. */
  readonly note?: string | undefined;
}

/** What all tables share. */
export interface Workplace {
  /** The packed packages of this repository, by their paths. */
  readonly tarballs: readonly string[];
  /**
   * Installs a package of npm with an exact version, such as `bun@1.4.5`, once per machine and without its install scripts.
   * @returns the folder of the package
   */
  cached(spec: string): Promise<string>;
  /** A new folder outside of this repository, which is removed at the end. */
  emptyFolder(name: string): string;
}
