import type { CollError, ErrorCode, ErrorDetails } from './errors.js';

/** What a rank is called in a message. */
export type RankName = (rank: number) => string;

/** A message, given the names of the ranks in it. */
export type RankWords = (name: RankName) => string;

// Works across separately installed copies of the library.
const key = Symbol.for('@coll/core.words');

/**
 * An error about ranks of a group. An enclosing group, in which these ranks have other names, can
 * word it again.
 */
export function rankError<E extends CollError>(
  Type: new (code: ErrorCode, message: string, details: ErrorDetails) => E,
  code: ErrorCode,
  words: RankWords,
  details: ErrorDetails,
): E {
  return keepWords(new Type(code, words(String), details), words);
}

/** Attaches the words of an error's message. */
export function keepWords<E extends CollError>(error: E, words: RankWords): E {
  return Object.defineProperty(error, key, { value: words });
}

/** The words of an error's message, which may name no rank. */
export function wordsOf(error: CollError): RankWords {
  return (error as { readonly [key]?: RankWords })[key] ?? (() => error.message);
}
