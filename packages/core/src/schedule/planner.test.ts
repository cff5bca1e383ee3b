import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import { ValueError } from '../support/errors.js';
import { Planner } from './planner.js';
import type { Algorithm, Schedule } from './schedule.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
const mine = new Error('mine');

function planned(plan: Algorithm['plan'], size = 2): unknown {
  return thrown(() => new Planner({ name: 'odd', plan }, size).plan(sum));
}

describe('a planner', () => {
  it.each<[string, Algorithm['plan']]>([
    ['a schedule must be { ranks, chunks, rounds }, got undefined', () => undefined as unknown as Schedule],
    ['its schedule is for 3 ranks', () => ({ ranks: 3, chunks: 1, rounds: [] })],
    [
      'its plan threw: mine',
      () => {
        throw mine;
      },
    ],
  ])('names the algorithm and the problem of a wrong schedule: %s', (problem, plan) => {
    expect(planned(plan)).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_SCHEDULE',
      message: `algorithm "odd" has no correct schedule for all-reduce sum of 2 ranks: ${problem}`,
      operation: 'all-reduce sum',
    });
  });

  it('keeps an error that a plan throws: a CollError unchanged, another error as the cause', () => {
    const ours = new ValueError('ERR_COLL_VALUE', 'no such order');
    const failing = (error: Error) =>
      planned(() => {
        throw error;
      });
    expect(failing(ours)).toBe(ours);
    expect(failing(mine)).toMatchObject({ cause: mine });
  });

  it("refuses a collective if the algorithm's refuses method throws", () => {
    const refuses = () => {
      throw mine;
    };
    const planner = new Planner({ name: 'odd', plan: () => ({ ranks: 2, chunks: 1, rounds: [] }), refuses }, 2);
    expect(planner.refuses(sum, 'float32')).toBe('the refuses method of algorithm "odd" threw: mine');
  });

  it('refuses an all-to-all of more than 160 ranks, which engines do not support', () => {
    const refusal = (size: number) =>
      new Planner({ name: 'any', plan: () => ({ ranks: size, chunks: 1, rounds: [] }) }, size).refuses(
        { kind: 'all-to-all' },
        'float32',
      );
    expect(refusal(160)).toBeUndefined();
    expect(refusal(161)).toBe('an all-to-all must have at most 160 ranks, got 161');
  });

  it.each([undefined, null, 'ring', {}, { name: 'ring', plan: 'around' }])(
    'refuses %o as an algorithm',
    (algorithm) => {
      expect(thrown(() => new Planner(algorithm as never, 2))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringMatching(/^an algorithm must be an object with a name and a plan/),
      });
    },
  );

  it('plans and verifies at each call', () => {
    const schedules = [
      { ranks: 1, chunks: 1, rounds: [] },
      { ranks: 1, chunks: 0, rounds: [] },
    ];
    const planner = new Planner({ name: 'changing', plan: () => schedules.shift() as Schedule }, 1);
    expect(planner.plan(sum)).toEqual({ ranks: 1, chunks: 1, rounds: [] });
    expect(() => planner.plan(sum)).toThrow('chunks must be a whole number, 1 or more, got 0');
  });
});
