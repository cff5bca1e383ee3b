import type { Collective } from '@coll/core';
import { nameOf } from '@coll/core/plugin';
import { type Algorithm, problemOf, type Round, type Schedule, type Transfer } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { drawn } from '../../../tools/tests/drawn.ts';

/** What a collective starts from and must end with, by place: `rank * chunks + chunk`. */
interface Expectation {
  readonly combines: boolean;
  readonly start: Float64Array;
  readonly end: Float64Array;
}

// Digit r of a value in this base is how often the contribution of rank r is in it: exact, and small enough for 8 ranks.
const base = 32;
// At the start: nothing is there. At the end: anything may be there.
const nothing = Number.NaN;

function expectationOf(collective: Collective, ranks: number, chunks: number): Expectation {
  const start = new Float64Array(ranks * chunks).fill(nothing);
  const end = new Float64Array(ranks * chunks).fill(nothing);
  const sum = Array.from({ length: ranks }, (_, rank) => base ** rank).reduce((total, weight) => total + weight, 0);
  for (let rank = 0; rank < ranks; rank++) {
    for (let chunk = 0; chunk < chunks; chunk++) {
      const place = rank * chunks + chunk;
      const block = Math.floor((chunk * ranks) / chunks);
      const pair = Math.floor((chunk * ranks * ranks) / chunks);
      const [sender, receiver] = [Math.floor(pair / ranks), pair % ranks];
      const root = 'root' in collective ? collective.root : -1;
      const moved = { 'all-gather': block, gather: block, scatter: root, 'all-to-all': sender };
      const giver = { broadcast: root, ...moved, 'all-reduce': rank, reduce: rank, 'reduce-scatter': rank };
      const parts = { 'reduce-scatter': block, scatter: block, gather: root, 'all-to-all': receiver };
      const taker = { broadcast: rank, 'all-gather': rank, 'all-reduce': rank, reduce: root, ...parts };
      const only = {
        gather: base ** block,
        scatter: base ** root,
        'all-to-all': base ** sender,
        broadcast: base ** root,
        'all-gather': base ** block,
        'all-reduce': sum,
        reduce: sum,
        'reduce-scatter': sum,
      };
      if (giver[collective.kind] === rank) start[place] = base ** rank;
      if (taker[collective.kind] === rank) end[place] = only[collective.kind];
    }
  }
  return { combines: 'op' in collective, start, end };
}

// Millions of schedules are executed in this memory.
const state = new Float64Array(8 * 24);
const writes = new Uint16Array(8 * 24);
// An all-to-all has a chunk for each pair of ranks.
const mostExchanging = 4;

/** Executes a schedule on numbers; whether it goes wrong, by rules of its own and not by those of the verifier. */
function isWrong({ ranks, chunks, rounds }: Schedule, { combines, start, end }: Expectation): boolean {
  state.set(start);
  for (const round of rounds) {
    if (round.some((transfer) => isOutside(transfer, ranks, chunks)) || hasRace(round, chunks)) return true;
    for (const { from, to, chunk, reduce } of round) {
      // Without races it is still what it was before the round.
      const moved = state[from * chunks + chunk] as number;
      const own = state[to * chunks + chunk] as number;
      if (Number.isNaN(moved) || (reduce && (Number.isNaN(own) || !combines))) return true;
      state[to * chunks + chunk] = reduce ? own + moved : moved;
    }
  }
  return end.some((wanted, place) => !Number.isNaN(wanted) && wanted !== state[place]);
}

function isOutside({ from, to, chunk }: Transfer, ranks: number, chunks: number): boolean {
  return from < 0 || to < 0 || chunk < 0 || from >= ranks || to >= ranks || chunk >= chunks;
}

/** Whether what a round does depends on which of its transfers comes first. */
function hasRace(round: Round, chunks: number): boolean {
  // More than all reductions of a round together, so that a sum above it is a copy and something else.
  const aCopy = 1000;
  for (const { from, to, chunk } of round) {
    writes[from * chunks + chunk] = 0;
    writes[to * chunks + chunk] = 0;
  }
  for (const { to, chunk, reduce } of round) (writes[to * chunks + chunk] as number) += reduce ? 1 : aCopy;
  for (const { from, to, chunk } of round) {
    if ((writes[from * chunks + chunk] as number) > 0 || (writes[to * chunks + chunk] as number) > aCopy) return true;
  }
  return false;
}

/** Whether a schedule that is right would be so without one of its transfers, too. */
function isWordy(schedule: Schedule, expectation: Expectation): boolean {
  const { rounds } = schedule;
  return rounds.some((round, index) =>
    round.some(
      (_, position) => !isWrong({ ...schedule, rounds: rounds.with(index, round.toSpliced(position, 1)) }, expectation),
    ),
  );
}

/** Every schedule that differs from this one by a single change to a single transfer. */
function* mutantsOf(schedule: Schedule): Generator<Schedule> {
  const { rounds } = schedule;
  for (const [index, round] of rounds.entries()) {
    for (const [position, transfer] of round.entries()) {
      const others = round.toSpliced(position, 1);
      yield { ...schedule, rounds: rounds.with(index, others) };
      yield { ...schedule, rounds: rounds.with(index, [...round, transfer]) };
      for (const changed of changesOf(transfer, schedule)) {
        yield { ...schedule, rounds: rounds.with(index, round.with(position, changed)) };
      }
      const rest = rounds.with(index, others);
      for (const [target, joined] of rest.entries()) {
        if (target !== index) yield { ...schedule, rounds: rest.with(target, [...joined, transfer]) };
      }
      for (let gap = 0; gap <= rest.length; gap++) yield { ...schedule, rounds: rest.toSpliced(gap, 0, [transfer]) };
    }
  }
}

/** Another sender, another receiver, another chunk, from one below to one above what there is, and the other effect. */
function changesOf(transfer: Transfer, { ranks, chunks }: Schedule): Transfer[] {
  const others = (count: number, own: number) =>
    Array.from({ length: count + 2 }, (_, index) => index - 1).filter((value) => value !== own);
  return [
    ...others(ranks, transfer.from).map((from) => ({ ...transfer, from })),
    ...others(ranks, transfer.to).map((to) => ({ ...transfer, to })),
    ...others(chunks, transfer.chunk).map((chunk) => ({ ...transfer, chunk })),
    { ...transfer, reduce: !transfer.reduce },
  ];
}

function collectivesOf(ranks: number): Collective[] {
  const roots = Array.from({ length: ranks }, (_, rank) => rank);
  return [
    { kind: 'all-reduce', op: 'sum' },
    { kind: 'all-gather' },
    { kind: 'reduce-scatter', op: 'sum' },
    ...roots.map((root): Collective => ({ kind: 'reduce', op: 'sum', root })),
    ...(['broadcast', 'gather', 'scatter'] as const).flatMap((kind) =>
      roots.map((root): Collective => ({ kind, root })),
    ),
    ...(ranks <= mostExchanging ? [{ kind: 'all-to-all' } as const] : []),
  ];
}

interface Tally {
  wrong: number;
  harmless: number;
}

/** Judges every mutant of every schedule of an algorithm; throws at the first on which verifier and oracle disagree. */
function judge(algorithm: Algorithm, ranks: number): Tally {
  const tally: Tally = { wrong: 0, harmless: 0 };
  for (const collective of collectivesOf(ranks)) {
    const schedule = algorithm.plan(collective, ranks);
    const expectation = expectationOf(collective, ranks, schedule.chunks);
    if (isWrong(schedule, expectation) || isWordy(schedule, expectation))
      throw new Error(`${algorithm.name} has no right ${nameOf(collective)}`);
    for (const mutant of mutantsOf(schedule)) {
      const wrong = isWrong(mutant, expectation) || isWordy(mutant, expectation);
      const problem = problemOf(mutant, collective);
      if (wrong !== (problem !== undefined)) {
        const verdict = wrong ? 'accepts a wrong or wordy' : `rejects a right (${problem})`;
        throw new Error(`verify ${verdict} ${nameOf(collective)} among ${ranks}: ${JSON.stringify(mutant.rounds)}`);
      }
      tally[wrong ? 'wrong' : 'harmless'] += 1;
    }
  }
  return tally;
}

interface Family {
  readonly name: string;
  readonly ranks: readonly number[];
  readonly algorithm: (ranks: number) => Algorithm;
  /** How many mutants there are at least, so that the test cannot pass by judging none. */
  readonly wrong: number;
  readonly harmless: number;
}

const upTo8 = [2, 3, 4, 5, 6, 7, 8];
const backwards = (ranks: number) => Array.from({ length: ranks }, (_, rank) => ranks - 1 - rank);

const families: readonly Family[] = [
  { name: 'direct', ranks: upTo8, algorithm: () => directAlgorithm(), wrong: 80_000, harmless: 7000 },
  {
    name: 'reduction to rank 0',
    ranks: upTo8,
    algorithm: () => reductionToOneAlgorithm(),
    wrong: 17_000,
    harmless: 1700,
  },
  {
    name: 'reduction to the last rank',
    ranks: upTo8,
    algorithm: (ranks) => reductionToOneAlgorithm({ root: ranks - 1 }),
    wrong: 17_000,
    harmless: 1700,
  },
  { name: 'ring', ranks: upTo8, algorithm: () => ringAlgorithm(), wrong: 100_000, harmless: 15_000 },
  {
    name: 'ring with 2 sub-chunks',
    // The number of mutants grows with the fourth power of that of ranks.
    ranks: [2, 3, 4, 5, 6],
    algorithm: () => ringAlgorithm({ subChunks: 2 }),
    wrong: 69_000,
    harmless: 8800,
  },
  {
    name: 'ring with 3 sub-chunks, backwards',
    ranks: [3, 4, 5],
    algorithm: (ranks) => ringAlgorithm({ subChunks: 3, order: backwards(ranks) }),
    wrong: 52_000,
    harmless: 6000,
  },
  {
    name: 'ring through 2 workers, backwards in each',
    ranks: [4, 6],
    algorithm: (ranks) => ringAlgorithm({ workers: 2, subChunks: 2, order: backwards(ranks / 2) }),
    wrong: 47_000,
    harmless: 5800,
  },
];

describe('verify, given all schedules that differ from a correct one by one change', () => {
  for (const { name, ranks, algorithm, wrong, harmless } of drawn('families of schedules', families, 2)) {
    it(`rejects more than ${wrong} wrong and accepts more than ${harmless} harmless schedules of: ${name}`, () => {
      const tallies = ranks.map((size) => judge(algorithm(size), size));
      expect(tallies.reduce((sum, tally) => sum + tally.wrong, 0)).toBeGreaterThan(wrong);
      expect(tallies.reduce((sum, tally) => sum + tally.harmless, 0)).toBeGreaterThan(harmless);
    });
  }
});
