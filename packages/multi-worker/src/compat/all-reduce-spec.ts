import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { entriesOfText } from './spec-text.js';

/**
 * Names of the algorithms in an all-reduce specification. In a name with a `/`, the part before the
 * `/` is the algorithm within each worker, and the part after it the algorithm across workers.
 */
export const allReduceAlgs = [
  'nccl',
  'nccl/xring',
  'nccl/rechd',
  'nccl/pscpu',
  'xring',
  'pscpu',
  'psgpu',
  'pscpu/pscpu',
] as const;

/** The name of an algorithm in an all-reduce specification. */
export type AllReduceAlg = (typeof allReduceAlgs)[number];

/** One entry of an all-reduce specification: the algorithm for tensors up to a size. */
export interface AllReduceSpec {
  readonly alg: AllReduceAlg;
  /**
   * Number of pieces into which a tensor is cut, 1 or more. Each piece is reduced on a different
   * device or ring.
   */
  readonly shards: number;
  /**
   * Size of the largest tensor for this entry, in elements or bytes (`limitUnit`); -1 means no
   * limit.
   */
  readonly limit: number;
}

/** One entry of an all-reduce specification. Default: 1 shard, no limit. */
export type AllReduceSpecEntry =
  | readonly [alg: AllReduceAlg, shards?: number, limit?: number]
  | { readonly alg: AllReduceAlg; readonly shards?: number | undefined; readonly limit?: number | undefined };

/**
 * An all-reduce specification: one entry, a list of entries with increasing limits, or text. For
 * example, `pscpu:2k:pscpu#2:64k:xring` selects `pscpu` up to 2k elements (or bytes, see
 * `limitUnit`), `pscpu` with 2 shards up to 64k, and `xring` for larger tensors.
 */
export type AllReduceSpecLike = AllReduceAlg | (string & {}) | AllReduceSpecEntry | readonly AllReduceSpecEntry[];

/**
 * The entries of an all-reduce specification, validated and with defaults.
 * @throws ValueError that names the entry: an unknown algorithm, shards below 1, limits that do not
 * increase, or no entry for the largest tensors
 *
 * @example
 * ```ts
 * import { parseSpec } from '@coll/multi-worker';
 *
 * const [small, large] = parseSpec('pscpu:2k:xring');
 * console.log(small); // { alg: 'pscpu', shards: 1, limit: 2048 }
 * console.log(large); // { alg: 'xring', shards: 1, limit: -1 }
 * ```
 */
export function parseSpec(spec: AllReduceSpecLike): readonly AllReduceSpec[] {
  const entries = listOf(spec).map((entry, index) => readEntry(entry, titleOf(entry, index)));
  requireRisingLimits(entries);
  return entries;
}

function listOf(spec: unknown): readonly unknown[] {
  if (typeof spec === 'string') return entriesOfText(spec);
  if (isFields(spec)) return [spec];
  if (!Array.isArray(spec))
    throw wrong('allReduceSpec', `must be an entry, a list of entries or a string, got ${quote(spec)}`);
  if (spec.length === 0)
    throw wrong('allReduceSpec', "the list is empty: name an algorithm, such as ['pscpu/pscpu', 2, -1]");
  // An entry begins with a name; a list begins with an entry.
  return Array.isArray(spec[0]) || isFields(spec[0]) ? spec : [spec];
}

function readEntry(entry: unknown, title: string): AllReduceSpec {
  if (typeof entry === 'string')
    throw wrong(title, `a list must contain entries, not strings: write [${quote(entry)}]`);
  const { alg, shards = 1, limit = -1 } = fieldsOf(entry, title);
  if (!allReduceAlgs.includes(alg as AllReduceAlg)) {
    throw wrong(title, `unknown algorithm ${quote(alg)}; it must be one of ${allReduceAlgs.join(', ')}`);
  }
  if (allReduceAlgs.includes(shards as AllReduceAlg)) {
    throw wrong(
      title,
      `a list must contain entries, not strings: write [[${quote(alg)}, 1, limit], [${quote(shards)}]]`,
    );
  }
  if (!(Number.isSafeInteger(shards) && (shards as number) >= 1)) {
    throw wrong(title, `shards must be a whole number, 1 or more, got ${quote(shards)}`);
  }
  if (!Number.isSafeInteger(limit)) {
    throw wrong(title, `the limit must be a whole number, or -1 for no limit, got ${quote(limit)}`);
  }
  return { alg: alg as AllReduceAlg, shards: shards as number, limit: Math.max(-1, limit as number) };
}

function fieldsOf(entry: unknown, title: string): { readonly [Field in keyof AllReduceSpec]?: unknown } {
  if (isFields(entry)) {
    const unknown = Object.keys(entry).find((key) => !['alg', 'shards', 'limit'].includes(key));
    if (unknown !== undefined)
      throw wrong(title, `an entry has the fields alg, shards and limit, but not ${quote(unknown)}`);
    return entry;
  }
  if (!Array.isArray(entry)) throw wrong(title, 'an entry must be [alg, shards, limit] or { alg, shards, limit }');
  if (entry.length === 0) throw wrong(title, 'an entry must begin with the name of an algorithm');
  if (entry.length > 3)
    throw wrong(title, `an entry must have an algorithm, shards and a limit, got ${entry.length} parts`);
  const [alg, shards, limit] = entry as readonly unknown[];
  return { alg, shards, limit };
}

function requireRisingLimits(entries: readonly AllReduceSpec[]): void {
  entries.forEach(({ alg, limit }, index) => {
    const before = entries[index - 1];
    if (!before) return;
    const title = `allReduceSpec entry ${index} (${alg})`;
    if (before.limit < 0)
      throw wrong(title, `is never used: entry ${index - 1} has no limit and takes all remaining values`);
    if (limit >= 0 && limit <= before.limit) {
      throw wrong(
        title,
        `is never used: its limit ${limit} is not above ${before.limit}, the limit of entry ${index - 1}`,
      );
    }
  });
  const last = entries.at(-1) as AllReduceSpec;
  if (last.limit < 0) return;
  const title = `allReduceSpec entry ${entries.length - 1} (${last.alg})`;
  throw wrong(
    title,
    `is the last entry, but no entry takes values larger than ${last.limit}: set the last limit to -1`,
  );
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function titleOf(entry: unknown, index: number): string {
  const fields = isFields(entry) ? Object.entries(entry).map(([key, value]) => `${key}: ${quote(value)}`) : [];
  return `allReduceSpec entry ${index} (${fields.length > 0 ? `{ ${fields.join(', ')} }` : quote(entry)})`;
}

function wrong(title: string, problem: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `${title}: ${problem}`);
}
