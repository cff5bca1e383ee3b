import { CollError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** What all members of a group say alike, by name. */
export type Terms = Readonly<Record<string, string | number>>;

/** The newest of the groups that meet in a store, one after the other, as the first of its members has told. */
export interface Newest {
  readonly generation: number;
  /** Of that member. */
  readonly rank: number;
  readonly terms: Terms;
}

/** As the store has it. */
export function encodeNewest(newest: Newest): Uint8Array {
  return Buffer.from(JSON.stringify(newest));
}

/** @throws CollError (ERR_COLL_STORE) for what no member has put there */
export function decodeNewest(bytes: Uint8Array, operation: string): Newest {
  const newest = parse(bytes);
  if (newest) return newest;
  const told = 'the store holds something else where members tell which group they open';
  throw new CollError('ERR_COLL_STORE', `${told}: take a store, or a part of one, that nobody else uses`, {
    operation,
  });
}

/** Which of the terms differ, in words; undefined where none does. */
export function differenceOf(own: Newest, other: Newest): string | undefined {
  const names = [...new Set([...Object.keys(own.terms), ...Object.keys(other.terms)])];
  const odd = names.filter((name) => own.terms[name] !== other.terms[name]);
  if (odd.length === 0) return undefined;
  const said = ({ rank, terms }: Newest) =>
    `rank ${rank} says ${odd.map((name) => `${name} ${quote(terms[name])}`).join(', ')}`;
  return `${said(other)}, but ${said(own)}`;
}

function parse(bytes: Uint8Array): Newest | undefined {
  try {
    const { generation, rank, terms } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Newest;
    return isCount(generation) && isCount(rank) && isTerms(terms) ? { generation, rank, terms } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is a whole number from 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether it is a table of texts and finite numbers. */
export function isTerms(value: unknown): value is Terms {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === 'string' || Number.isFinite(each));
}
