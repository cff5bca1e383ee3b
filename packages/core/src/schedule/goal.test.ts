import { expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { endsOf, goalOf, ownerOf } from './goal.js';

/**
 * One line per rank with one pair of letters per chunk: `i` if the rank contributes to the chunk,
 * `o` if it receives the chunk, `.` otherwise.
 */
function pictureOf(collective: Collective, ranks: number, chunks: number): string[] {
  const goal = goalOf(collective, { ranks, chunks });
  const place = (rank: number, chunk: number) =>
    `${goal.contributes(rank, chunk) ? 'i' : '.'}${goal.receives(rank, chunk) ? 'o' : '.'}`;
  return Array.from({ length: ranks }, (_, rank) =>
    Array.from({ length: chunks }, (_, chunk) => place(rank, chunk)).join(' '),
  );
}

it('goalOf returns which ranks contribute and receive each chunk', () => {
  expect(pictureOf({ kind: 'all-reduce', op: 'sum' }, 2, 1)).toEqual(['io', 'io']);
  expect(pictureOf({ kind: 'reduce', op: 'sum', root: 1 }, 2, 1)).toEqual(['i.', 'io']);
  expect(pictureOf({ kind: 'broadcast', root: 1 }, 2, 1)).toEqual(['.o', 'io']);
  expect(pictureOf({ kind: 'all-gather' }, 2, 4)).toEqual(['io io .o .o', '.o .o io io']);
  expect(pictureOf({ kind: 'reduce-scatter', op: 'sum' }, 2, 4)).toEqual(['io io i. i.', 'i. i. io io']);
  expect(pictureOf({ kind: 'gather', root: 1 }, 2, 4)).toEqual(['i. i. .. ..', '.o .o io io']);
  expect(pictureOf({ kind: 'scatter', root: 1 }, 2, 4)).toEqual(['.o .o .. ..', 'i. i. io io']);
  expect(pictureOf({ kind: 'all-to-all' }, 2, 4)).toEqual(['io i. .o ..', '.. .o i. io']);
});

it('ownerOf assigns chunks to ranks in order, starting at rank 0', () => {
  expect([0, 1, 2, 3, 4, 5].map((chunk) => ownerOf({ ranks: 3, chunks: 6 }, chunk))).toEqual([0, 0, 1, 1, 2, 2]);
});

it('endsOf orders the blocks of an all-to-all by sender, then by receiver', () => {
  const ends = [0, 1, 2, 3, 4, 5, 6, 7].map((chunk) => endsOf({ ranks: 2, chunks: 8 }, chunk));
  expect(ends.map(({ from, to }) => `${from}${to}`).join(' ')).toBe('00 00 01 01 10 10 11 11');
});
