import { CollError, type Collective } from '@coll/core';
import { collectiveKinds } from '@coll/core/plugin';
import type { Schedule } from '@coll/core/schedule';
import { collectiveOf } from '../collective.ts';
import { type Choice, choices } from './choices.ts';
import type { State } from './state.ts';

/** The largest group that the page shows. */
export const mostRanks = 16;

/** The schedule that a state selects. */
export interface Plan {
  readonly choice: Choice;
  readonly collective: Collective;
  readonly schedule: Schedule;
}

/** The schedule that a state selects, or a message for the visitor why there is none. */
export function planOf(state: State): Plan | string {
  const problem = problemOf(state);
  if (problem !== undefined) return problem;
  const choice = choices.find(({ name }) => name === state.algorithm) as Choice;
  return planWith(choice, state);
}

/** The schedule of an algorithm for the collective and the ranks of a valid state, or why there is none. */
export function planWith(choice: Choice, state: State): Plan | string {
  const { ranks, ranksPerWorker } = state;
  const collective = collectiveOf(state.collective, state.root);
  try {
    const algorithm = choice.algorithmFor(ranks / ranksPerWorker, ranksPerWorker);
    const refused = algorithm.refuses?.(collective, ranks);
    return refused ?? { choice, collective, schedule: algorithm.plan(collective, ranks) };
  } catch (error) {
    // Some algorithms check the number of workers when they are made.
    if (error instanceof CollError) return error.message;
    throw error;
  }
}

/** Whether a collective has a root, which the visitor can choose. */
export function hasRoot({ collective }: Pick<State, 'collective'>): boolean {
  return collective === 'reduce' || collective === 'broadcast' || collective === 'gather' || collective === 'scatter';
}

function problemOf(state: State): string | undefined {
  const { collective, algorithm, ranks, ranksPerWorker, root } = state;
  const names = choices.map(({ name }) => name);
  if (!collectiveKinds.includes(collective)) return mustBe('collective', oneOf(collectiveKinds), collective);
  if (!names.includes(algorithm)) return mustBe('algorithm', oneOf(names), algorithm);
  if (!isWhole(ranks, 1, mostRanks)) return mustBe('ranks', `a whole number from 1 to ${mostRanks}`, ranks);
  if (!isWhole(ranksPerWorker, 1, ranks) || ranks % ranksPerWorker !== 0)
    return mustBe('ranks per worker', `a whole number that divides ${ranks} ranks`, ranksPerWorker);
  if (hasRoot(state) && !isWhole(root, 0, ranks - 1)) return mustBe('root', `a rank from 0 to ${ranks - 1}`, root);
  return undefined;
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function oneOf(names: readonly string[]): string {
  return `one of ${names.join(', ')}`;
}

/** A message about a field. An empty number field is NaN. */
export function mustBe(field: string, wanted: string, value: string | number): string {
  return `${field} must be ${wanted}, got ${Number.isNaN(value) ? 'no number' : value}`;
}
