import type { Collective } from '../collective.js';
import { goalOf } from './goal.js';
import type { Round, Schedule } from './schedule.js';

/** A left fold of contributions: `before`, then that of rank `last`. */
interface Chain {
  readonly before: Chain | undefined;
  readonly last: number;
  readonly length: number;
}

/**
 * For each chunk the ranks whose contributions are combined, in that order from left to right, when every rank that ends
 * with the chunk has it combined so. Reading all inputs in this order gives the bits of the schedule in one pass.
 * Undefined when some chunk is combined otherwise, as in (a + b) + (c + d). The schedule must be one that `verify` accepts.
 */
export function chainsOf(schedule: Schedule, collective: Collective): readonly (readonly number[])[] | undefined {
  const { ranks, chunks } = schedule;
  const goal = goalOf(collective, schedule);
  const places = play(schedule, collective);
  const chains: (readonly number[])[] = [];
  for (let chunk = 0; chunk < chunks; chunk++) {
    let chain: Chain | undefined;
    for (let rank = 0; rank < ranks; rank++) {
      if (!goal.receives(rank, chunk)) continue;
      const found = places[rank * chunks + chunk];
      chain ??= found;
      if (!found || !isSame(chain, found)) return undefined;
    }
    chains.push(ranksOf(chain));
  }
  return chains;
}

/** What each place, `rank * chunks + chunk`, holds in the end: a chain, or undefined for anything else. */
function play(schedule: Schedule, collective: Collective): (Chain | undefined)[] {
  const { ranks, chunks, rounds } = schedule;
  const goal = goalOf(collective, schedule);
  const places: (Chain | undefined)[] = [];
  for (let rank = 0; rank < ranks; rank++) {
    const own = { before: undefined, last: rank, length: 1 };
    for (let chunk = 0; chunk < chunks; chunk++) places.push(goal.contributes(rank, chunk) ? own : undefined);
  }
  for (const round of rounds) {
    // In a proven schedule nothing that a round writes is read in it, so that places may change one by one.
    for (const [place, operands] of operandsOf(round, chunks)) {
      places[place] = operands.map((operand) => places[operand]).reduce(combine);
    }
  }
  return places;
}

/** For each place that a round writes, the places combined there, in the order of ranks. */
function operandsOf(round: Round, chunks: number): Map<number, number[]> {
  const operands = new Map<number, number[]>();
  for (const { from, to, chunk, reduce } of round) {
    const place = to * chunks + chunk;
    const known = operands.get(place);
    if (known) known.push(from * chunks + chunk);
    else operands.set(place, reduce ? [place, from * chunks + chunk] : [from * chunks + chunk]);
  }
  for (const places of operands.values()) places.sort((a, b) => a - b);
  return operands;
}

// Our arithmetic is commutative to the bit, so a single contribution extends a chain from either side, and of two single
// ones the lower rank may stand first, which makes equal folds look equal.
function combine(left: Chain | undefined, right: Chain | undefined): Chain | undefined {
  if (!left || !right) return undefined;
  const [before, next] =
    left.length === 1 && (right.length > 1 || right.last < left.last) ? [right, left] : [left, right];
  return next.length === 1 ? { before, last: next.last, length: before.length + 1 } : undefined;
}

function isSame(a: Chain | undefined, b: Chain | undefined): boolean {
  let [one, other] = [a, b];
  while (one !== other) {
    if (one?.last !== other?.last) return false;
    [one, other] = [one?.before, other?.before];
  }
  return true;
}

function ranksOf(chain: Chain | undefined): readonly number[] {
  const ranks: number[] = [];
  for (let link = chain; link; link = link.before) ranks.push(link.last);
  return ranks.reverse();
}
