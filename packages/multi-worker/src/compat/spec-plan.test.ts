import { type DType, zeros } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { parseSpec } from './all-reduce-spec.js';
import { SpecPlan } from './spec-plan.js';

const packing = { numPacks: 0, aggSmallGradsMaxBytes: 0, aggSmallGradsMaxGroup: 10 };

function planOf(spec: string, workers?: number, gpusPerWorker = 2): SpecPlan {
  return new SpecPlan({
    entries: parseSpec(spec),
    workers: workers === undefined ? undefined : { workers, gpusPerWorker },
    limitUnit: 'elements',
    packing,
  });
}

const values = (lengths: readonly number[], dtype: DType = 'float32') =>
  lengths.map((length) => zeros(dtype, [length]));

describe('the plan of an all-reduce specification', () => {
  it('numbers the groups of every entry from 0', () => {
    const variants = planOf('pscpu:4:xring#2:8:psgpu#3', 3).variants(6);
    expect(variants.map(({ entry: { alg }, group }) => `${alg} ${group}`)).toEqual([
      'pscpu 0',
      'pscpu 1',
      'pscpu 2',
      'xring 0',
      'psgpu 0',
      'psgpu 1',
    ]);
  });

  it('assigns every value to the entry for its size, and its packs to the groups of the entry in rotation', () => {
    const routes = planOf('pscpu:4:xring#2:8:psgpu#3', 3).routes(values([9, 4, 5, 0, 8, 100]), 6);
    expect(routes.map(({ indices }) => indices)).toEqual([
      [1, 3],
      [2, 4],
      [0, 5],
    ]);
    const turns = routes.map(({ variant }) => [0, 1, 2, 3].map((pack) => variant?.(pack)));
    expect(turns).toEqual([
      [0, 1, 2, 0],
      [3, 3, 3, 3],
      [4, 5, 4, 5],
    ]);
  });

  it('assumes one worker with all ranks if no workers are given', () => {
    const plan = planOf('psgpu#2');
    expect([2, 4, 5].map((ranks) => plan.variants(ranks).length)).toEqual([1, 2, 3]);
    expect(() => plan.routes(values([1]), 1)).toThrow(/only 1 devices, but group_size=2/);
    expect(() => planOf('pscpu#2')).toThrow(/only 1 devices, but group_size=2/);
  });

  it('has one algorithm with a variant for each group of each entry, and a ring for other collectives', () => {
    const { algorithm } = planOf('pscpu:4:xring', 2);
    const scheduleOf = (variant: number) => algorithm.plan({ kind: 'all-reduce', op: 'sum', variant }, 4);
    expect([0, 1].map((variant) => scheduleOf(variant).rounds[0]?.[0]?.to)).toEqual([0, 2]);
    expect(scheduleOf(2).rounds).toHaveLength(6);
    expect(algorithm.refuses?.({ kind: 'all-reduce', op: 'sum', variant: 3 }, 4)).toBe(
      'unknown variant 3 of the collective',
    );
    expect(() => scheduleOf(3)).toThrow('unknown variant 3 of the collective');
    expect(algorithm.refuses?.({ kind: 'all-gather' }, 4)).toBeUndefined();
    expect(algorithm.plan({ kind: 'all-gather' }, 4).rounds).toHaveLength(3);
  });

  it('has no schedule for entries that use NCCL', () => {
    const { algorithm } = planOf('nccl/xring', 2);
    const refused = /nccl\/xring needs the values of all replicas in one thread/;
    expect(algorithm.refuses?.({ kind: 'all-reduce', op: 'sum' }, 4)).toMatch(refused);
    expect(() => algorithm.plan({ kind: 'all-reduce', op: 'sum' }, 4)).toThrow(refused);
  });
});
