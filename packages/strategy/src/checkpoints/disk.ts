/** The files of a folder by name. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** Where checkpoints are: the files of Node.js, or those of a page. A folder is a path. */
export interface Disk {
  readonly path: Paths;
  /** The SHA-256 sum of these bytes in hexadecimal digits. */
  sha256(bytes: Uint8Array): string | Promise<string>;
  /** The names in a folder; none if the folder does not exist. */
  names(folder: string): Promise<string[]>;
  /** The bytes of a file; undefined if it does not exist. @param requireSize throws if the file has a wrong length */
  read(file: string, requireSize: (bytes: number) => void): Promise<Uint8Array | undefined>;
  /** Creates a folder for checkpoints, and removes what crashed attempts have left in it. */
  prepare(parent: string): Promise<void>;
  /** Writes the files of a new checkpoint, of which the manifest is the last one. After a crash, the folder is whole or a leftover. */
  write(folder: string, files: Files): Promise<void>;
  /** Removes the folder of a checkpoint. A crash does not leave a part of it that looks like a checkpoint. */
  remove(folder: string): Promise<void>;
}

/** Operations on the paths of a disk, as in `node:path`. */
interface Paths {
  resolve(folder: string): string;
  join(folder: string, name: string): string;
  basename(folder: string): string;
}
