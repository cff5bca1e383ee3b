import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { messageOf } from '@coll/core/internal';

/** The folder with the records of this user's programs on this host, or why there is none. */
export type RecordFolder =
  | { readonly path: string }
  | {
      readonly refusal: string;
      /** Whether the user has named the folder. */
      readonly isNamed: boolean;
    };

export interface RecordFolderOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly platform?: string;
  /** The number of the user; undefined on Windows. */
  readonly user?: number | undefined;
  /** Whether to create a folder that does not exist. Default: true */
  readonly mayCreate?: boolean;
}

/**
 * Finds the folder: `COLL_RECORD_DIR`, or else the first folder of this user that can be used. It must
 * belong to this user, and no other user may write to it.
 */
export function recordFolder({
  environment = process.env,
  platform = process.platform,
  user = process.geteuid?.(),
  mayCreate = true,
}: RecordFolderOptions = {}): RecordFolder {
  const named = environment['COLL_RECORD_DIR'];
  if (named) {
    const folder = path.resolve(named);
    const refusal = refusalOf(folder, { user, mayCreate, isNamed: true });
    return refusal === undefined ? { path: folder } : { refusal, isNamed: true };
  }
  const refusals: string[] = [];
  for (const folder of usualFolders(environment, platform, user)) {
    const refusal = refusalOf(folder, { user, mayCreate, isNamed: false });
    if (refusal === undefined) return { path: folder };
    refusals.push(refusal);
  }
  return { refusal: refusals.join('; '), isNamed: false };
}

function usualFolders(
  environment: Readonly<Record<string, string | undefined>>,
  platform: string,
  user: number | undefined,
): readonly string[] {
  const own = user === undefined ? 'coll' : `coll-${user}`;
  if (platform !== 'linux') return [path.join(tmpdir(), own)];
  const shared = path.join('/dev/shm', own);
  const runtime = environment['XDG_RUNTIME_DIR'];
  return runtime && path.isAbsolute(runtime) ? [path.join(runtime, 'coll'), shared] : [shared];
}

interface Expectation {
  readonly user: number | undefined;
  readonly mayCreate: boolean;
  readonly isNamed: boolean;
}

/** Why a folder cannot be used; undefined if it can. */
function refusalOf(folder: string, { user, mayCreate, isNamed }: Expectation): string | undefined {
  try {
    if (mayCreate) create(folder, isNamed);
    // Not the target of a link, which another user may have made.
    const found = lstatSync(folder);
    if (!found.isDirectory()) return `${folder} is ${found.isSymbolicLink() ? 'a link' : 'not a folder'}`;
    if (user === undefined) return undefined;
    if (found.uid !== user) return `${folder} belongs to user ${found.uid}, but must belong to user ${user}`;
    if (isNamed && (found.mode & 0o022) !== 0)
      return `other users may write to ${folder}, but must not: chmod go-w ${folder}`;
    if (!isNamed && mayCreate && (found.mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function create(folder: string, isNamed: boolean): void {
  try {
    // Only the user's own choice gets missing parents.
    mkdirSync(folder, { mode: 0o700, recursive: isNamed });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
