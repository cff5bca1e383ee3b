import { ValueError } from '@coll/core';
import { quote, requireList } from '@coll/core/internal';
import type { AllReduceSpec } from './all-reduce-spec.js';
import { requireChoice } from './spec-fit.js';
import { suffixes } from './spec-text.js';

/**
 * The one-line text of a parsed all-reduce specification; parsing the text gives the same entries.
 * @throws ValueError unless `entries` are parsed entries
 *
 * @example
 * ```ts
 * import { formatSpec, parseSpec } from '@coll/multi-worker';
 *
 * const spec = parseSpec([
 *   ['pscpu/pscpu', 2, 1024],
 *   ['xring', 2, -1],
 * ]);
 * console.log(formatSpec(spec)); // pscpu/pscpu#2:1k:xring#2
 * ```
 */
export function formatSpec(entries: readonly AllReduceSpec[]): string {
  requireList(entries, 'entries');
  for (const entry of entries) {
    requireChoice(entry);
    if (!Number.isSafeInteger(entry.limit))
      throw new ValueError('ERR_COLL_VALUE', `limit must be a whole number, got ${quote(entry.limit)}`);
  }
  return entries
    .map(({ alg, shards, limit }) => {
      const name = shards === 1 ? alg : `${alg}#${shards}`;
      return limit < 0 ? name : `${name}:${withSuffix(limit)}`;
    })
    .join(':');
}

function withSuffix(limit: number): string {
  let power = 0;
  while (limit > 0 && power < suffixes.length && limit % 1024 ** (power + 1) === 0) power += 1;
  return power === 0 ? `${limit}` : `${limit / 1024 ** power}${suffixes[power - 1]}`;
}
