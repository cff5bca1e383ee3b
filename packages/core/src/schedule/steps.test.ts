import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Round, Transfer } from './schedule.js';
import { stepsOf } from './steps.js';

const add = (from: number, to: number, chunk: number): Transfer => ({ from, to, chunk, reduce: true });
const copy = (from: number, to: number, chunk: number): Transfer => ({ from, to, chunk, reduce: false });

describe('stepsOf', () => {
  it('combines all additions to a chunk of a rank into one step, in rank order', () => {
    expect(stepsOf([add(3, 1, 0), add(0, 1, 0), add(2, 1, 0)])).toEqual([{ to: 1, chunk: 0, operands: [0, 1, 2, 3] }]);
  });

  it('includes the target itself as an operand of an addition, but not of a copy', () => {
    expect(stepsOf([add(0, 2, 5), copy(2, 0, 1)])).toEqual([
      { to: 2, chunk: 5, operands: [0, 2] },
      { to: 0, chunk: 1, operands: [2] },
    ]);
  });

  it('distinguishes chunk 11 of rank 1 from chunk 1 of rank 11', () => {
    expect(stepsOf([copy(0, 1, 11), copy(0, 11, 1), copy(0, 1, 1)])).toEqual([
      { to: 1, chunk: 11, operands: [0] },
      { to: 11, chunk: 1, operands: [0] },
      { to: 1, chunk: 1, operands: [0] },
    ]);
  });

  it('sorts ranks as numbers, so that rank 2 precedes rank 10', () => {
    expect(stepsOf([add(10, 9, 0), add(2, 9, 0)])).toEqual([{ to: 9, chunk: 0, operands: [2, 9, 10] }]);
  });

  it('returns nothing for an empty round', () => {
    expect(stepsOf([])).toEqual([]);
  });

  it('contains every transfer once, in the step of its target', () => {
    const transfer = fc.record({ from: fc.nat({ max: 5 }), to: fc.nat({ max: 5 }), chunk: fc.nat({ max: 3 }) });
    const round = fc
      .uniqueArray(transfer, { selector: ({ from, to, chunk }) => `${from} ${to} ${chunk}` })
      .map(
        (transfers): Round => transfers.filter(({ from, to }) => from !== to).map((one) => ({ ...one, reduce: true })),
      );
    fc.assert(
      fc.property(round, (transfers) => {
        const moved = stepsOf(transfers).flatMap(({ to, chunk, operands }) =>
          operands.filter((from) => from !== to).map((from) => `${from} ${to} ${chunk}`),
        );
        expect(moved.sort()).toEqual(transfers.map(({ from, to, chunk }) => `${from} ${to} ${chunk}`).sort());
        const operands = stepsOf(transfers).map((step) => step.operands);
        expect(operands).toEqual(operands.map((ranks) => ranks.toSorted((a, b) => a - b)));
      }),
    );
  });
});
