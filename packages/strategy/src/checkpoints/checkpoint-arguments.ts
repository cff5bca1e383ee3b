import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** @param call how to call the operation, such as `saveCheckpoint(folder, state)` @throws ValueError unless `folder` is a path */
export function requireFolder(folder: unknown, call: string): asserts folder is string {
  if (typeof folder === 'string' && folder !== '' && !folder.includes('\0')) return;
  const operation = call.slice(0, call.indexOf('('));
  throw new ValueError('ERR_COLL_VALUE', `${operation}: folder must be a path, got ${quote(folder)}; call ${call}`);
}

/** @throws ValueError unless `keep` is a number of checkpoints */
export function requireKeep(keep: unknown, operation: string): number {
  if (keep === undefined) return 3;
  if (Number.isSafeInteger(keep) && (keep as number) >= 1) return keep as number;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: keep must be a whole number from 1, got ${quote(keep)}`);
}
