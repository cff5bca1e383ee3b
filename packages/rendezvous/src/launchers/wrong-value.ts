import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** The error for a value in a cluster description: what was expected, and what was given. */
export function wrongValue(expected: string, given: unknown): ValueError {
  return new ValueError('ERR_COLL_CLUSTER', `${expected}, got ${quote(given)}`);
}

/** Parses a whole number of at most 15 decimal digits. @throws ValueError for any other text */
export function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrongValue(`${name} must be a whole number, 0 or more`, text);
}
