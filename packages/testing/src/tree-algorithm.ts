import type { Collective } from '@coll/core';
import {
  type Algorithm,
  blockCount,
  type Round,
  type Schedule,
  scheduleOf,
  type Transfer,
  together,
} from '@coll/core/schedule';

/**
 * An algorithm for suites: ranks combine values with neighbours, then with neighbours of
 * neighbours, and the result returns along the same tree. Each chunk has its own tree. From four
 * ranks on, its sums are (a + b) + (c + d), so an executor that folds inputs one by one fails the
 * suite.
 *
 *     0 <-+ 1    0 <--+ 2    0 --> 2    0 --> 1
 *     2 <-+ 3                           2 --> 3
 */
export const treeAlgorithm: Algorithm = {
  name: 'tree',
  plan(collective, ranks) {
    const chunks = blockCount(collective.kind, ranks) === 1 ? ranks : blockCount(collective.kind, ranks);
    const parts = Array.from(
      { length: chunks },
      (_, chunk): Schedule => ({ ranks, chunks, rounds: roundsOf(collective, ranks, chunk) }),
    );
    const { rounds } = together(...parts);
    return scheduleOf(ranks, chunks, rounds);
  },
};

function roundsOf(collective: Collective, ranks: number, chunk: number): Round[] {
  const hub = 'root' in collective ? collective.root : chunk;
  switch (collective.kind) {
    case 'all-reduce': {
      const inwards = collect(ranks, hub, chunk);
      return [...inwards, ...turned(inwards)];
    }
    case 'reduce':
    case 'reduce-scatter':
      return collect(ranks, hub, chunk);
    case 'broadcast':
    case 'all-gather':
      return turned(collect(ranks, hub, chunk));
    case 'gather':
      return pass(ranks, chunk, hub, chunk);
    case 'scatter':
      return turned(pass(ranks, chunk, hub, chunk));
    case 'all-to-all':
      return pass(ranks, Math.floor(chunk / ranks), chunk % ranks, chunk);
  }
}

/**
 * Makes the rounds that reduce a chunk to the rank `hub`. The distance between partners doubles in
 * each round. A place is a rank's distance from the hub.
 */
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

/**
 * Makes the rounds that send a chunk from rank `start` to the rank `hub` along the tree, as many
 * rounds as `collect` makes.
 */
function pass(ranks: number, start: number, hub: number, chunk: number): Round[] {
  const rounds: Round[] = [];
  const rankAt = (place: number) => (hub + place) % ranks;
  let at = (start - hub + ranks) % ranks;
  for (let distance = 1; distance < ranks; distance *= 2) {
    const isItsRound = at % (2 * distance) === distance;
    const step = { from: rankAt(at), to: rankAt(at - distance), chunk, reduce: false };
    rounds.push(isItsRound ? [step] : []);
    if (isItsRound) at -= distance;
  }
  return rounds;
}

/**
 * Reverses the order and the directions of transfers. The reversed transfers copy values from the
 * hub back to all ranks.
 */
function turned(rounds: readonly Round[]): Round[] {
  return rounds
    .toReversed()
    .map((round) => round.map(({ from, to, chunk }) => ({ from: to, to: from, chunk, reduce: false })));
}
