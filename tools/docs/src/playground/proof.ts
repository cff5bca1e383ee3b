import type { Collective } from '@coll/core';
import { nameOf } from '@coll/core/plugin';
import { problemOf, type Schedule } from '@coll/core/schedule';
import { counted } from '../format.ts';

/** The verifier's result, in words. */
export interface Proof {
  readonly isProved: boolean;
  readonly text: string;
}

/** Verifies a schedule. */
export function proofOf(schedule: Schedule, collective: Collective): Proof {
  const { ranks, rounds } = schedule;
  const subject = `${nameOf(collective)} with ${counted(ranks, 'rank')}`;
  const problem = problemOf(schedule, collective);
  if (problem !== undefined) return { isProved: false, text: `Not a correct schedule for ${subject}: ${problem}.` };
  const size = `${counted(rounds.flat().length, 'transfer')} in ${counted(rounds.length, 'round')}`;
  const claim = `The schedule is correct for every input and every timing of the transfers within a round`;
  return { isProved: true, text: `Proved for ${subject}, ${size}. ${claim}, and no transfer is redundant.` };
}
