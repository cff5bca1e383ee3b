import type { AllReduceSpec } from './all-reduce-spec.js';
import { suffixes } from './spec-text.js';

/** The one-line form of a specification that was parsed: parsing it gives the same entries. */
export function formatSpec(entries: readonly AllReduceSpec[]): string {
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
