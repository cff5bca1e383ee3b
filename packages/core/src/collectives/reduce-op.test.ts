import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { isReduceOp, ReduceOp, reduceOpFrom, reduceOps, validateReduceOp } from './reduce-op.js';

it('ReduceOp has members whose values are their names', () => {
  expect(ReduceOp).toEqual({ SUM: 'SUM', MEAN: 'MEAN', MIN: 'MIN', MAX: 'MAX', PRODUCT: 'PRODUCT' });
});

describe('reduceOpFrom', () => {
  it.each(['sum', 'SUM', 'Sum', 'sUm'])('accepts %s as SUM', (name) => {
    expect(reduceOpFrom(name)).toBe(ReduceOp.SUM);
  });

  it('accepts every member and its name in lower case', () => {
    expect(reduceOps.map(reduceOpFrom)).toEqual(reduceOps);
    expect(reduceOps.map((member) => reduceOpFrom(member.toLowerCase()))).toEqual(reduceOps);
  });

  it.each(['average', '', ' sum', 'toString', undefined, null, 0, ['sum']])(
    'refuses %o and lists the known ops',
    (name) => {
      expect(thrown(() => reduceOpFrom(name))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('must be one of SUM, MEAN, MIN, MAX, PRODUCT'),
      });
    },
  );
});

describe('validateReduceOp', () => {
  it('accepts members only, without converting names', () => {
    for (const member of reduceOps) expect(() => validateReduceOp(member)).not.toThrow();
    for (const name of ['sum', 'Mean', 'average', undefined, 0]) {
      expect(thrown(() => validateReduceOp(name))).toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('pass one of ReduceOp.SUM, ReduceOp.MEAN'),
      });
    }
  });

  it('agrees with isReduceOp', () => {
    expect(['SUM', 'sum', 'hasOwnProperty', undefined].map(isReduceOp)).toEqual([true, false, false, false]);
  });
});

describe('fromVariableAggregation', () => {
  it('returns the reduce op of an aggregation that combines values', () => {
    expect(['SUM', 'MEAN'].map(ReduceOp.fromVariableAggregation)).toEqual([ReduceOp.SUM, ReduceOp.MEAN]);
  });

  it.each(['NONE', 'ONLY_FIRST_REPLICA', 'MAX', 'sum', undefined, 1])('refuses %o', (aggregation) => {
    expect(thrown(() => ReduceOp.fromVariableAggregation(aggregation))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });

  it('is not listed among the members of ReduceOp', () => {
    expect(isReduceOp('fromVariableAggregation')).toBe(false);
    expect(Object.keys(ReduceOp)).toEqual(['SUM', 'MEAN', 'MIN', 'MAX', 'PRODUCT']);
  });
});
