import type { Collective } from '@coll/core';
import { type Algorithm, type Round, type Schedule, scheduleOf, type Transfer, together } from '@coll/core/schedule';

/**
 * Neighbours combine, then neighbours of neighbours, and the result goes back the same way; each chunk has a tree of its own.
 * A suite's algorithm: from four ranks on its sums are (a + b) + (c + d), so that no executor can fold inputs one by one.
 *
 *     0 <-+ 1    0 <--+ 2    0 --> 2    0 --> 1
 *     2 <-+ 3                           2 --> 3
 */
export const treeAlgorithm: Algorithm = {
  name: 'tree',
  plan(collective, ranks) {
    const chunks = Array.from({ length: ranks }, (_, chunk) => chunk);
    const parts = chunks.map(
      (chunk): Schedule => ({ ranks, chunks: ranks, rounds: roundsOf(collective, ranks, chunk) }),
    );
    const { rounds } = together(...parts);
    return scheduleOf(ranks, ranks, rounds);
  },
};

function roundsOf(collective: Collective, ranks: number, chunk: number): Round[] {
  const hub = 'root' in collective ? collective.root : chunk;
  const inwards = collect(ranks, hub, chunk);
  const outwards = inwards.toReversed().map((round) => round.map(turned));
  switch (collective.kind) {
    case 'all-reduce':
      return [...inwards, ...outwards];
    case 'reduce':
    case 'reduce-scatter':
      return inwards;
    case 'broadcast':
    case 'all-gather':
      return outwards;
  }
}

/** Distances double; ranks count from the hub. */
function collect(ranks: number, hub: number, chunk: number): Round[] {
  const rounds: Round[] = [];
  const rankAt = (place: number) => (hub + place) % ranks;
  for (let distance = 1; distance < ranks; distance *= 2) {
    const round: Transfer[] = [];
    for (let place = 0; place + distance < ranks; place += 2 * distance) {
      round.push({ from: rankAt(place + distance), to: rankAt(place), chunk, reduce: true });
    }
    rounds.push(round);
  }
  return rounds;
}

function turned({ from, to, chunk }: Transfer): Transfer {
  return { from: to, to: from, chunk, reduce: false };
}
