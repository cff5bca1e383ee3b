import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { arithmeticOf } from './arithmetic.js';
import { chainsOf } from './chains.js';
import type { Round, Schedule, Transfer } from './schedule.js';

const add = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk = 0): Transfer => ({ from, to, chunk, reduce: false });
const schedule = (ranks: number, chunks: number, ...rounds: Round[]): Schedule => ({ ranks, chunks, rounds });

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const reduceTo = (root: number): Collective => ({ kind: 'reduce', op: 'sum', root });

describe('arithmeticOf', () => {
  it('writes the operands of a round in rank order', () => {
    expect(arithmeticOf(schedule(3, 1, [add(2, 1), add(0, 1)]), reduceTo(1))).toEqual([['0 + 1 + 2']]);
  });

  it('writes a single contribution after the sum to which it is added', () => {
    expect(arithmeticOf(schedule(4, 1, [add(2, 3)], [add(3, 1)], [add(1, 0)]), reduceTo(0))).toEqual([
      ['2 + 3 + 1 + 0'],
    ]);
  });

  it('writes sums that are added to each other in parentheses', () => {
    const tree = schedule(4, 1, [add(1, 0), add(3, 2)], [add(2, 0)]);
    expect(arithmeticOf(tree, reduceTo(0))).toEqual([['(0 + 1) + (2 + 3)']]);
    const mixed = schedule(5, 1, [add(1, 0), add(3, 2)], [add(2, 0)], [add(4, 0)]);
    expect(arithmeticOf(mixed, reduceTo(0))).toEqual([['(0 + 1) + (2 + 3) + 4']]);
    const third = schedule(4, 1, [add(3, 2)], [add(0, 2), add(1, 2)]);
    expect(arithmeticOf(third, reduceTo(2))).toEqual([['(0 + 1) + (2 + 3)']]);
  });

  it('returns several formulas for a chunk if ranks end with different sums', () => {
    const rounds = [
      [add(1, 0)],
      [copy(0, 1)],
      [add(2, 0), add(3, 1)],
      [add(3, 0), add(2, 1)],
      [copy(0, 2), copy(1, 3)],
    ];
    const differing = schedule(4, 1, ...rounds);
    expect(arithmeticOf(differing, allReduce)).toEqual([['0 + 1 + 2 + 3', '0 + 1 + 3 + 2']]);
    expect(arithmeticOf(differing, reduceTo(1))).toEqual([['0 + 1 + 3 + 2']]);
  });

  it('returns the rank of the only contribution to each chunk if the collective does not reduce', () => {
    expect(arithmeticOf(schedule(2, 2, [copy(0, 1, 0), copy(1, 0, 1)]), { kind: 'all-gather' })).toEqual([
      ['0'],
      ['1'],
    ]);
    expect(arithmeticOf(schedule(1, 2), allReduce)).toEqual([['0'], ['0']]);
  });

  it('agrees with chainsOf and with executed schedules', () => {
    const merges = fc.integer({ min: 1, max: 7 }).chain((ranks) =>
      fc.record({
        ranks: fc.constant(ranks),
        // Each pair selects a remaining rank, whose sum is added to another remaining rank. The
        // last rank has the total.
        picks: fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: ranks - 1, maxLength: ranks - 1 }),
      }),
    );
    fc.assert(
      fc.property(merges, ({ ranks, picks }) => {
        const left = Array.from({ length: ranks }, (_, rank) => rank);
        const sums = left.map((rank) => 0.1 * 3 ** rank);
        const rounds = picks.map(([a, b]) => {
          const [from] = left.splice(a % left.length, 1) as [number];
          const to = left[b % left.length] as number;
          (sums[to] as number) += sums[from] as number;
          return [add(from, to)];
        });
        const root = left[0] as number;
        const merging = schedule(ranks, 1, ...rounds);
        const [[text] = []] = arithmeticOf(merging, reduceTo(root)) as [[string]];
        expect(evaluate(text as string, (rank) => 0.1 * 3 ** rank)).toBe(sums[root]);
        const chains = chainsOf(merging, reduceTo(root));
        if (chains) expect(text).toBe(chains[0]?.join(' + '));
        else expect(text).toContain('(');
      }),
    );
  });
});

/** The value of an expression of numbers, plus signs and parentheses, from left to right. */
function evaluate(text: string, numberOf: (rank: number) => number): number {
  const tokens = text.match(/\d+|[()+]/g) ?? [];
  const sum = (): number => {
    let value = operand();
    while (tokens[0] === '+') {
      tokens.shift();
      value += operand();
    }
    return value;
  };
  const operand = (): number => {
    const token = tokens.shift() as string;
    if (token !== '(') return numberOf(Number(token));
    const value = sum();
    tokens.shift();
    return value;
  };
  return sum();
}
