import type { Round, Schedule, Transfer } from './schedule.js';

/**
 * The transfers of a schedule, chunk by chunk. No chunk depends on another, so a pass in this order
 * keeps the state of one chunk at a time: a value per rank instead of a value per rank and chunk.
 */
export interface TransfersByChunk {
  /** Transfers of chunk `c` are those from index `begins[c]` up to `begins[c + 1]`. */
  readonly begins: Int32Array;
  /** Of each chunk in the order of the rounds, and of a round in its own order. */
  readonly transfers: readonly Transfer[];
  /** The round of each of these transfers. */
  readonly rounds: Int32Array;
}

/** Sorts the transfers of a schedule by chunk. All of them must name one of its chunks. */
export function transfersByChunk({ chunks, rounds }: Pick<Schedule, 'chunks' | 'rounds'>): TransfersByChunk {
  // First the number of transfers of each chunk, then where its next transfer goes.
  const begins = new Int32Array(chunks + 1);
  for (const round of rounds) {
    for (const { chunk } of round) (begins[chunk + 1] as number)++;
  }
  for (let chunk = 0; chunk < chunks; chunk++) (begins[chunk + 1] as number) += begins[chunk] as number;
  const next = begins.slice(0, chunks);
  const count = begins[chunks] as number;
  const transfers = new Array<Transfer>(count);
  const roundOf = new Int32Array(count);
  rounds.forEach((round: Round, index) => {
    for (const transfer of round) {
      const at = next[transfer.chunk] as number;
      next[transfer.chunk] = at + 1;
      transfers[at] = transfer;
      roundOf[at] = index;
    }
  });
  return { begins, transfers, rounds: roundOf };
}
