import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** The error of a value in the description of a cluster: what it has to be, and what it is. */
export function wrongValue(expected: string, given: unknown): ValueError {
  return new ValueError('ERR_COLL_CLUSTER', `${expected}, not ${quote(given)}`);
}

/** The number that a text writes in decimal digits. @throws ValueError for any other text */
export function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrongValue(`${name} is a whole number from 0 on`, text);
}
