import { describe, expect, it } from 'vitest';
import { cost, representativeCost } from './cost.js';
import type { Schedule, StreamedSchedule, Transfer } from './schedule.js';

const machine = { kind: 'all-reduce', alpha: 1, beta: 0.01, gamma: 0.001 } as const;

/** All-reduce around a ring: in every tick each rank takes a chunk from the one before it. */
function ring(ranks: number): Schedule {
  const ticks = Array.from({ length: 2 * (ranks - 1) }, (_, tick) => tick);
  const chunkAt = (to: number, tick: number) => (to - 2 - tick + 3 * ranks) % ranks;
  const rounds = ticks.map((tick) =>
    Array.from({ length: ranks }, (_, to) => ({
      from: (to + ranks - 1) % ranks,
      to,
      chunk: chunkAt(to, tick),
      reduce: tick < ranks - 1,
    })),
  );
  return { ranks, chunks: ranks, rounds };
}

describe('cost()', () => {
  it('prices a ring all-reduce by the formula of the literature', () => {
    const { rounds, bytesPerRank, busiestLink, seconds } = cost(ring(4), { ...machine, bytes: 1000 });
    expect(rounds).toBe(6);
    expect(bytesPerRank).toBe(1500);
    expect(busiestLink?.bytes).toBe(1500);
    expect(seconds).toBeCloseTo(6 * 1 + 1500 * 0.01 + 750 * 0.001);
  });

  it('counts, for each round, the time of the busiest sender or receiver', () => {
    const others = [1, 2, 3];
    const gather = others.map((from) => ({ from, to: 0, chunk: 0, reduce: true }));
    const spread = others.map((to) => ({ from: 0, to, chunk: 0, reduce: false }));
    const schedule = { ranks: 4, chunks: 1, rounds: [gather, spread] };
    const { bytesPerRank, busiestLink, seconds } = cost(schedule, { ...machine, bytes: 100 });
    expect(bytesPerRank).toBe(300);
    expect(busiestLink).toEqual({ from: 1, to: 0, bytes: 100 });
    expect(seconds).toBeCloseTo(2 * 1 + 2 * 300 * 0.01 + 300 * 0.001);
  });

  it('uses the actual sizes of uneven chunks', () => {
    const rounds = [0, 1, 2, 3].map((chunk) => [{ from: 0, to: 1, chunk, reduce: false }]);
    const schedule = { ranks: 2, chunks: 4, rounds };
    expect(cost(schedule, { ...machine, bytes: 9 })).toMatchObject({ bytesPerRank: 9, busiestLink: { bytes: 9 } });
    expect(cost(schedule, { ...machine, bytes: 9 }).seconds).toBeCloseTo(4 + 9 * 0.01);
  });

  it('counts the buffer of an all-gather as the blocks of all ranks', () => {
    const rounds = [
      [
        { from: 0, to: 1, chunk: 0, reduce: false },
        { from: 1, to: 0, chunk: 1, reduce: false },
      ],
    ];
    const schedule = { ranks: 2, chunks: 2, rounds };
    expect(cost(schedule, { ...machine, kind: 'all-gather', bytes: 10 }).bytesPerRank).toBe(5);
  });

  it('is zero if nothing is sent', () => {
    const nothing = { rounds: 0, bytesPerRank: 0, busiestLink: undefined, seconds: 0 };
    expect(cost({ ranks: 1, chunks: 1, rounds: [] }, { ...machine, bytes: 10 })).toEqual(nothing);
    expect(cost({ ranks: 2, chunks: 1, rounds: [[]] }, { ...machine, bytes: 10 }).seconds).toBe(0);
  });

  it('charges latency once per message, and merges transfers between two ranks of a round into one', () => {
    const copies = (...chunks: number[]) => chunks.map((chunk) => ({ from: 0, to: 1, chunk, reduce: false }));
    const priced = (rounds: Schedule['rounds'], ranks = 2) =>
      cost({ ranks, chunks: 4, rounds }, { ...machine, overhead: 0.5, bytes: 8 }).seconds;
    expect(priced([copies(0, 1, 2)])).toBeCloseTo(1 + 0.5 + 6 * 0.01);
    expect(priced([copies(0), copies(1)])).toBeCloseTo(2 * (1 + 0.5 + 2 * 0.01));
    const toBoth = [1, 2].map((to) => ({ from: 0, to, chunk: 0, reduce: false }));
    expect(priced([toBoth], 3)).toBeCloseTo(1 + 2 * 0.5 + 4 * 0.01);
  });

  it('lets all ranks of a worker share one port to other workers, but not within the worker', () => {
    const workers = { ranksPerWorker: 2, alpha: 0.1, beta: 0.001 };
    const priced = (...pairs: (readonly [from: number, to: number])[]) => {
      const round = pairs.map(([from, to]) => ({ from, to, chunk: 0, reduce: false }));
      return cost({ ranks: 4, chunks: 1, rounds: [round] }, { ...machine, workers, bytes: 100 }).seconds;
    };
    expect(priced([0, 1])).toBeCloseTo(0.1 + 100 * 0.001);
    expect(priced([0, 1], [2, 3], [1, 0])).toBeCloseTo(0.1 + 100 * 0.001);
    expect(priced([0, 2])).toBeCloseTo(1 + 100 * 0.01);
    expect(priced([0, 2], [1, 3])).toBeCloseTo(1 + 200 * 0.01);
    expect(priced([0, 2], [3, 1])).toBeCloseTo(1 + 100 * 0.01);
    expect(priced([0, 2], [0, 1])).toBeCloseTo(1 + 100 * 0.01);
  });

  it('refuses workers into which the ranks cannot be divided', () => {
    for (const ranksPerWorker of [0, 3, 1.5, Number.NaN]) {
      const workers = { ranksPerWorker, alpha: 0, beta: 0 };
      expect(() => cost(ring(4), { ...machine, workers, bytes: 1 })).toThrow(
        expect.objectContaining({
          name: 'ValueError',
          code: 'ERR_COLL_VALUE',
          message: `4 ranks cannot be split into workers of ${ranksPerWorker} ranks; ranksPerWorker must divide the number of ranks`,
        }),
      );
    }
  });

  it('reads a streamed schedule only once, and returns the same cost as for the planned schedule', () => {
    const schedule = ring(5);
    let reads = 0;
    function* rounds(): Iterable<Iterable<Transfer>> {
      reads += 1;
      for (const round of schedule.rounds) yield round.values();
    }
    const stream: StreamedSchedule = { ranks: 5, chunks: 5, rounds: rounds() };
    expect(cost(stream, { ...machine, bytes: 1000 })).toEqual(cost(schedule, { ...machine, bytes: 1000 }));
    expect(reads).toBe(1);
  });

  it('finds the busiest link with more ranks than the table of links holds', () => {
    const rounds = [[0, 1, 2].map((chunk) => ({ from: 4999, to: chunk % 2, chunk, reduce: false }))];
    const { busiestLink } = cost({ ranks: 5000, chunks: 3, rounds }, { ...machine, bytes: 9 });
    expect(busiestLink).toEqual({ from: 4999, to: 0, bytes: 6 });
  });

  it('finds the busiest link of more ranks than a 32-bit number of links', () => {
    const transfer = { from: 99_999, to: 1, chunk: 0, reduce: false };
    const schedule = { ranks: 100_000, chunks: 1, rounds: [[transfer]] };
    expect(cost(schedule, { ...machine, bytes: 9 }).busiestLink).toEqual({ from: 99_999, to: 1, bytes: 9 });
  });

  it('prices a schedule of a thousand ranks', () => {
    const { rounds, bytesPerRank } = cost(ring(1024), { ...machine, bytes: 1024 * 1000 });
    expect({ rounds, bytesPerRank }).toEqual({ rounds: 2046, bytesPerRank: 2046 * 1000 });
  });
});

describe('representativeCost()', () => {
  it('prices the transfers of representatives as cost() prices those of all ranks', () => {
    const { ranks, chunks, rounds } = ring(16);
    // The first chunk is the longest, and each rank has one message per direction.
    const some = rounds.map((round) => round.filter(({ chunk }) => chunk === 0));
    const options = { ...machine, overhead: 0.5, bytes: 100 };
    const { seconds } = cost({ ranks, chunks, rounds }, options);
    const representative = { ranks, chunks, representativeRounds: some };
    expect(representativeCost(representative, options)).toEqual({ rounds: 30, seconds });
  });

  it('charges several chunks of a message once, in each round anew', () => {
    const round = [0, 1].map((chunk) => ({ from: 0, to: 1, chunk, reduce: false }));
    const representative = { ranks: 2, chunks: 2, representativeRounds: [round, round] };
    const { seconds } = representativeCost(representative, { ...machine, overhead: 0.5, bytes: 8 });
    expect(seconds).toBeCloseTo(2 * (1 + 0.5 + 8 * 0.01));
  });

  it('refuses options that cost() refuses', () => {
    const nothing = { ranks: 4, chunks: 1, representativeRounds: [] };
    const workers = { ranksPerWorker: 3, alpha: 0, beta: 0 };
    expect(() => representativeCost(nothing, { ...machine, workers, bytes: 1 })).toThrow(/4 ranks cannot be split/);
    expect(() => representativeCost(nothing, { ...machine, byte: 1 } as never)).toThrow(/byte/);
  });
});
