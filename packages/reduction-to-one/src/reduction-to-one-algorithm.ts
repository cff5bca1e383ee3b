import { type Collective, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { type Algorithm, linear, type Round, type Schedule, scheduleOf, type Transfer } from '@coll/core/schedule';

/** Options of `reductionToOneAlgorithm`, all optional. */
export interface ReductionToOneAlgorithmOptions {
  /** The rank that combines the values, unless the collective has its own root. Default: 0. */
  readonly root?: number | undefined;
}

const reductionToOneAlgorithmOptions = knownOptions<ReductionToOneAlgorithmOptions>('reductionToOneAlgorithm', {
  root: true,
});

/**
 * Every rank sends its values to one rank, which combines them in rank order and sends the result
 * to every rank: the flat tree of MPI libraries. This needs the fewest messages, but one rank sends
 * and receives all bytes. That rank is the root of the collective or, if the collective has none,
 * `root`.
 *
 *     1 --+       +--> 1
 *     2 --+-> 0 --+--> 2
 *     3 --+       +--> 3
 *
 * Ranks of an all-to-all send their blocks directly to each other.
 * @throws ValueError unless the root is a whole number, 0 or more
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
 *
 * const members = openMembers({ size: 3, algorithm: reductionToOneAlgorithm() });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[2]); // Int32Array(2) [ 3, 3 ]
 * ```
 */
export function reductionToOneAlgorithm(options?: ReductionToOneAlgorithmOptions): Algorithm {
  const { root = 0 } = optionsOf(options, '{ root: 0 }', reductionToOneAlgorithmOptions);
  if (!(Number.isInteger(root) && root >= 0))
    throw new ValueError('ERR_COLL_VALUE', `root must be a rank, a whole number from 0, got ${quote(root)}`);
  const refuses = (collective: Collective, ranks: number): string | undefined =>
    'root' in collective || root < ranks ? undefined : `root must be one of the ${ranks} ranks, got ${root}`;
  return {
    name: 'reduction-to-one',
    refuses,
    plan(collective, ranks) {
      const refused = refuses(collective, ranks);
      if (refused !== undefined) throw new ValueError('ERR_COLL_REFUSED', refused);
      return scheduleFor(collective, ranks, root);
    },
  };
}

function scheduleFor(collective: Collective, ranks: number, root: number): Schedule {
  const hub = 'root' in collective ? collective.root : root;
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  const others = everyone.filter((rank) => rank !== hub);
  const add = (from: number, chunk: number): Transfer => ({ from, to: hub, chunk, reduce: true });
  const copy = (from: number, to: number, chunk: number): Transfer => ({ from, to, chunk, reduce: false });
  const whole = (...rounds: readonly Round[]) => scheduleOf(ranks, 1, rounds);
  const inBlocks = (...rounds: readonly Round[]) => scheduleOf(ranks, ranks, rounds);
  switch (collective.kind) {
    case 'all-reduce':
      return whole(
        others.map((from) => add(from, 0)),
        others.map((to) => copy(hub, to, 0)),
      );
    case 'reduce':
      return whole(others.map((from) => add(from, 0)));
    case 'broadcast':
      return whole(others.map((to) => copy(hub, to, 0)));
    case 'all-gather': {
      const blocksFor = (to: number) => everyone.filter((block) => block !== to).map((block) => copy(hub, to, block));
      return inBlocks(
        others.map((from) => copy(from, hub, from)),
        others.flatMap(blocksFor),
      );
    }
    case 'reduce-scatter':
      return inBlocks(
        others.flatMap((from) => everyone.map((block) => add(from, block))),
        others.map((to) => copy(hub, to, to)),
      );
    default:
      return linear(collective, ranks);
  }
}
