import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { collectiveKinds } from '@coll/core/plugin';
import { problemOf } from '@coll/core/schedule';
import { describe, expect, it } from 'vitest';
import { choices } from './choices.ts';
import { mostRanks, planOf } from './plan.ts';
import { initial, type State } from './state.ts';

const root = path.resolve(import.meta.dirname, '../../../..');

function stateWith(part: Partial<State>): State {
  return { ...initial, ...part };
}

describe.each(choices.map(({ name }) => name))('the algorithm %s', (algorithm) => {
  it('has proved schedules or gives a reason, for every collective and number of ranks', () => {
    let schedules = 0;
    for (const collective of collectiveKinds) {
      for (let ranks = 1; ranks <= mostRanks; ranks++) {
        for (const ranksPerWorker of [1, 2, 4].filter((each) => ranks % each === 0)) {
          const plan = planOf(stateWith({ collective, algorithm, ranks, ranksPerWorker, root: ranks - 1 }));
          if (typeof plan === 'string') continue;
          expect(problemOf(plan.schedule, plan.collective)).toBeUndefined();
          schedules += 1;
        }
      }
    }
    expect(schedules).toBeGreaterThan(10);
  });
});

it('the choices include every algorithm of the packages', () => {
  const shown = new Set(choices.flatMap(({ sources }) => sources));
  const folders = ['ring', 'direct', 'reduction-to-one', 'hierarchical-copy', 'multi-worker'];
  const files = folders
    .map((folder) => `packages/${folder}/src`)
    .flatMap((folder) => readdirSync(path.join(root, folder)).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('-algorithm.ts'));
  expect(files.length).toBeGreaterThan(7);
  expect(files.filter((file) => !shown.has(file))).toEqual([]);
  expect([...shown].filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

it.each([
  [{ ranks: 0 }, 'ranks must be a whole number from 1 to 16, got 0'],
  [{ ranks: 2.5 }, 'ranks must be a whole number from 1 to 16, got 2.5'],
  [{ ranks: Number.NaN }, 'ranks must be a whole number from 1 to 16, got no number'],
  [{ ranksPerWorker: 3 }, 'ranks per worker must be a whole number that divides 4 ranks, got 3'],
  [{ collective: 'broadcast', root: 4 }, 'root must be a rank from 0 to 3, got 4'],
  [{ collective: 'sum' as 'reduce' }, /^collective must be one of all-reduce, .*, got sum$/],
  [{ algorithm: 'star' }, /^algorithm must be one of ring, .*, got star$/],
  [{ algorithm: 'rechd', ranks: 6 }, /power of two, got 6/],
  [{ algorithm: 'pscpu', ranks: 1 }, /^pscpu: only 1 devices/],
  [{ algorithm: 'linear' }, 'linear supports moves, but not all-reduce'],
] as const)('the page explains why %j has no schedule: %s', (part, message) => {
  expect(planOf(stateWith(part))).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
});

it('a root that the collective does not have is ignored', () => {
  expect(planOf(stateWith({ root: 99 }))).toMatchObject({ collective: { kind: 'all-reduce', op: 'sum' } });
});
