import { ValueError } from '@coll/core';

/** Suffixes of size limits in an all-reduce specification, for 2^10, 2^20, 2^30 and 2^40. */
export const suffixes = 'kMGT';

/**
 * The entries of a one-line specification, whose values are not validated: `alg[#shards]`, followed
 * by any number of `:limit:alg[#shards]`. A limit is a number, optionally with a suffix k, M, G or
 * T for 2^10, 2^20, 2^30 or 2^40.
 * @throws ValueError that names the invalid part
 */
export function entriesOfText(text: string): readonly (readonly [alg: string, shards: number, limit: number])[] {
  const parts = text.split(':');
  const names = parts.filter((_, index) => index % 2 === 0);
  const limits = parts.filter((_, index) => index % 2 === 1).map((part) => limitOf(part, text));
  if (parts.length % 2 === 0) {
    throw wrong(text, `ends with a limit: add the algorithm for values larger than ${parts.at(-1)}`);
  }
  return names.map((name, index) => [...algorithmOf(name, index, text), limits[index] ?? -1] as const);
}

function algorithmOf(part: string, index: number, text: string): readonly [alg: string, shards: number] {
  const [alg = '', shards, ...rest] = part.split('#');
  if (alg === '') throw wrong(text, `entry ${index} does not name an algorithm`);
  if (shards === undefined) return [alg, 1];
  if (rest.length > 0 || !/^\d+$/.test(shards)) {
    throw wrong(text, `entry ${index} (${part}): # must be followed by a whole number of shards`);
  }
  return [alg, Number(shards)];
}

function limitOf(part: string, text: string): number {
  const [, digits, suffix = ''] = /^(\d+)([kKmMgGtT]?)$/.exec(part) ?? [];
  const power = suffixes.toLowerCase().indexOf(suffix.toLowerCase()) + 1;
  const limit = Number(digits) * 1024 ** (suffix === '' ? 0 : power);
  if (digits !== undefined && Number.isSafeInteger(limit)) return limit;
  throw wrong(text, `the limit "${part}" must be a whole number, optionally with a suffix k, M, G or T`);
}

function wrong(text: string, problem: string): ValueError {
  const shown = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  return new ValueError('ERR_COLL_VALUE', `allReduceSpec ${JSON.stringify(shown)}: ${problem}`);
}
