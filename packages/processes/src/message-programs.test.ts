import type { Collective, Schedule } from '@coll/core';
import { stepsOf } from '@coll/core/plugin';
import { describe, expect, it } from 'vitest';
import { messageWords } from './message-programs.js';

const allReduce: Collective = { kind: 'all-reduce', op: 'mean' };

describe('messageWords', () => {
  it('encodes the collective, then the steps of each round', () => {
    const schedule: Schedule = {
      ranks: 3,
      chunks: 1,
      rounds: [
        [
          { from: 2, to: 1, chunk: 0, reduce: true },
          { from: 0, to: 1, chunk: 0, reduce: true },
        ],
        [
          { from: 1, to: 0, chunk: 0, reduce: false },
          { from: 1, to: 2, chunk: 0, reduce: false },
        ],
      ],
    };
    const [head, combined, copied] = [
      [0, 1, 2, 3, 0, 1, 2],
      [1, 0, 1, 3, 0, 1, 2],
      [2, 0, 0, 1, 1, 0, 2, 1, 1],
    ] as const;
    expect([...messageWords(schedule, allReduce, 'float32')]).toEqual([...head, ...combined, ...copied]);
  });

  it('encodes the root, and the op sum for collectives that do not reduce', () => {
    const schedule: Schedule = { ranks: 2, chunks: 1, rounds: [[{ from: 1, to: 0, chunk: 0, reduce: false }]] };
    const words = messageWords(schedule, { kind: 'broadcast', root: 1 }, 'bool');
    expect([...words]).toEqual([2, 0, 12, 2, 1, 1, 1, 1, 0, 0, 1, 1]);
  });

  it('preserves the rounds and steps of a schedule', () => {
    for (const ranks of [1, 2, 3, 8, 16]) {
      const schedule = aroundTheRing(ranks);
      const words = messageWords(schedule, allReduce, 'float16');
      expect(roundsOf(words), `among ${ranks}`).toEqual(schedule.rounds.map(stepsOf));
    }
  });
});

/** A ring all-reduce: chunks are summed around the ring, then copied around it. */
function aroundTheRing(ranks: number): Schedule {
  const rounds = Array.from({ length: 2 * (ranks - 1) }, (_, round) =>
    Array.from({ length: ranks }, (_, from) => ({
      from,
      to: (from + 1) % ranks,
      chunk: (from - round + 2 * ranks) % ranks,
      reduce: round < ranks - 1,
    })),
  );
  return { ranks, chunks: ranks, rounds };
}

/** Decodes words into steps, round by round. */
function roundsOf(words: Int32Array) {
  const rest = [...words.slice(6)];
  const take = () => rest.shift() as number;
  const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make);
  const takeStep = () => {
    const [chunk, to] = [take(), take()];
    return { chunk, to, operands: times(take(), take) };
  };
  return times(take(), () => times(take(), takeStep));
}
