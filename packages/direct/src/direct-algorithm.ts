import type { Collective } from '@coll/core';
import { type Algorithm, type Round, scheduleOf, type Transfer } from '@coll/core/schedule';

/**
 * Everyone talks to everyone: rank r combines chunk r of all ranks, in the order of ranks, and hands it out. Two rounds at
 * any size, and as few bytes a rank as around a ring. These are the linear reduce-scatter and all-gather of MPI libraries:
 * Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
 *
 *     rank      0    1    2             0    1    2             0    1    2
 *     chunk 0   a0   b0   c0            S0   .    .             S0   S0   S0
 *     chunk 1   a1   b1   c1  combine   .    S1   .   hand out  S1   S1   S1
 *     chunk 2   a2   b2   c2            .    .    S2            S2   S2   S2
 */
export const directAlgorithm: Algorithm = {
  name: 'direct',
  plan: (collective, ranks) => scheduleOf(ranks, ranks, roundsOf(collective, ranks)),
};

function roundsOf(collective: Collective, ranks: number): readonly Round[] {
  switch (collective.kind) {
    case 'all-reduce':
      return [combine(ranks), handOut(ranks)];
    case 'reduce-scatter':
      return [combine(ranks)];
    case 'all-gather':
      return [handOut(ranks)];
    case 'reduce':
      return [combine(ranks), handOut(ranks).filter(({ to }) => to === collective.root)];
    case 'broadcast':
      return [scatter(collective.root, ranks), handOut(ranks).filter(({ to }) => to !== collective.root)];
  }
}

/** Chunk r of everyone goes to rank r. */
function combine(ranks: number): Round {
  return pairs(ranks).map(([from, to]) => ({ from, to, chunk: to, reduce: true }));
}

/** Chunk r of rank r goes to everyone. */
function handOut(ranks: number): Round {
  return pairs(ranks).map(([from, to]) => ({ from, to, chunk: from, reduce: false }));
}

/** Chunk r of the root goes to rank r. */
function scatter(root: number, ranks: number): Round {
  const fromRoot = pairs(ranks).filter(([from]) => from === root);
  return fromRoot.map(([from, to]): Transfer => ({ from, to, chunk: to, reduce: false }));
}

/** Who can send to whom. */
function pairs(ranks: number): (readonly [from: number, to: number])[] {
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  return everyone.flatMap((from) => everyone.filter((to) => to !== from).map((to) => [from, to] as const));
}
