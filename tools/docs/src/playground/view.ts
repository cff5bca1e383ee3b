import { type Layout, layOut } from '../algorithms/space-time-layout.ts';
import { counted } from '../format.ts';
import { type Plan, planOf } from './plan.ts';
import { type Proof, proofOf } from './proof.ts';
import { holdingsAfter, type Move, movesOf, type Row, removedOf, withoutRemoved } from './rounds.ts';
import type { State } from './state.ts';

/** A round of a schedule, as the page shows it. */
export interface View {
  readonly plan: Plan;
  readonly rounds: number;
  /** Number of executed rounds. The last of them is shown. */
  readonly step: number;
  readonly title: string;
  readonly picture: Layout;
  readonly moves: readonly Move[];
  readonly rows: readonly Row[];
  readonly proof: Proof;
}

/** What the page shows for a state, or a message for the visitor if the state has no schedule. */
export function viewOf(state: State): View | string {
  const plan = planOf(state);
  if (typeof plan === 'string') return plan;
  const { collective, schedule } = plan;
  const rounds = schedule.rounds.length;
  const step = Number.isInteger(state.step) ? Math.max(0, Math.min(state.step, rounds)) : 0;
  const removed = removedOf(state.without);
  const executed = withoutRemoved(schedule, removed);
  return {
    plan,
    rounds,
    step,
    title: step === 0 ? `Start, before ${counted(rounds, 'round')}` : `Round ${step - 1} (${step} of ${rounds})`,
    picture: layOut(
      { ranks: schedule.ranks, rounds: [executed.rounds[step - 1] ?? []] },
      { columnWidth: schedule.ranks > 8 ? 76 : 110, roundHeight: 150 },
    ),
    moves: movesOf(schedule, step - 1, removed),
    rows: holdingsAfter(executed, collective, step),
    proof: proofOf(executed, collective),
  };
}
