import type { Schedule, Transfer } from './schedule.js';
import { transfersByChunk } from './transfers-by-chunk.js';

/**
 * The steps of a schedule (see `Step`), chunk by chunk and round by round, as integers: for each
 * step the rank `to`, the number of operands, and the operands.
 */
export interface StepsByChunk {
  /** The integers of chunk `c` are at the indices from `begins[c]` to `begins[c + 1]` of `words`. */
  readonly begins: Int32Array;
  /** Number of steps of each chunk. */
  readonly counts: Int32Array;
  readonly words: Int32Array;
}

/** The steps of a schedule that `verify` accepts. */
export function stepsByChunk(schedule: Schedule): StepsByChunk {
  const { ranks, chunks } = schedule;
  const { begins: firsts, transfers, rounds } = transfersByChunk(schedule);
  const begins = new Int32Array(chunks + 1);
  const counts = new Int32Array(chunks);
  // A step of one transfer has four integers, and each further transfer adds one.
  const words = new Int32Array(4 * transfers.length);
  let end = 0;
  for (let chunk = 0; chunk < chunks; chunk++) {
    const last = firsts[chunk + 1] as number;
    let count = 0;
    for (let first = firsts[chunk] as number, next = first; first < last; first = next) {
      while (next < last && rounds[next] === rounds[first]) next++;
      const keys = keysOf(transfers, first, next, ranks);
      for (let at = 0; at < keys.length; count++) {
        const to = targetOf(keys[at] as number, ranks);
        const lengthAt = end + 1;
        words[end] = to;
        end += 2;
        let isOwnDue = (keys[at] as number) % 2 === 1;
        for (; at < keys.length && targetOf(keys[at] as number, ranks) === to; at++) {
          const from = Math.floor((keys[at] as number) / 2) % ranks;
          if (isOwnDue && to < from) {
            words[end++] = to;
            isOwnDue = false;
          }
          words[end++] = from;
        }
        if (isOwnDue) words[end++] = to;
        words[lengthAt] = end - lengthAt - 1;
      }
    }
    begins[chunk + 1] = end;
    counts[chunk] = count;
  }
  return { begins, counts, words: words.slice(0, end) };
}

/**
 * The transfers of one chunk and round as numbers, sorted by target and then by source:
 * `(to * ranks + from) * 2`, and 1 more if the transfer reduces.
 */
function keysOf(transfers: readonly Transfer[], begin: number, end: number, ranks: number): Float64Array {
  const keys = new Float64Array(end - begin);
  for (let at = begin; at < end; at++) {
    const { from, to, reduce } = transfers[at] as Transfer;
    keys[at - begin] = 2 * (to * ranks + from) + Number(reduce);
  }
  return keys.length > 1 ? keys.sort() : keys;
}

function targetOf(key: number, ranks: number): number {
  return Math.floor(key / (2 * ranks));
}
