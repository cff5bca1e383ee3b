import { type Algorithm, AllReduceOps, type AllReduceOptions, definePlugin, type Round, type World } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';

/** Pairs of ranks add their partial sums, at distances 1, 2, 4 and so on, until rank 0 has the total. The total returns along the same links. */
export const treeAlgorithm: Algorithm = {
  name: 'tree',
  refuses: ({ kind }) => (kind === 'all-reduce' ? undefined : `this tree is for all-reduce only, not for ${kind}`),
  plan(_collective, ranks) {
    const up: Round[] = [];
    for (let distance = 1; distance < ranks; distance *= 2) {
      const parents = Array.from({ length: ranks }, (_, rank) => rank).filter((rank) => rank % (2 * distance) === 0);
      const meeting = parents.filter((parent) => parent + distance < ranks);
      up.push(meeting.map((parent) => ({ from: parent + distance, to: parent, chunk: 0, reduce: true })));
    }
    const down = up.toReversed().map((round) => {
      return round.map(({ from, to, chunk }) => ({ from: to, to: from, chunk, reduce: false }));
    });
    return { ranks, chunks: 1, rounds: [...up, ...down] };
  },
};

class TreeAllReduce extends AllReduceOps {
  readonly name = 'tree';

  constructor(options: AllReduceOptions = {}, world?: World) {
    super({ ...options, algorithm: treeAlgorithm, fallback: new ReductionToOneDevice(), world });
  }
}

export const tree = definePlugin<AllReduceOptions>({
  name: 'tree',
  module: import.meta.url,
  create: (options, world) => new TreeAllReduce(options, world),
});
