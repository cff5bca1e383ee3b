import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { variantOf } from '@coll/core/plugin';
import { type Algorithm, linear, onChunks, type Round, scheduleOf, sequence, together } from '@coll/core/schedule';

/**
 * The two halves of a group, and the main device of each half. The two main devices exchange the
 * sums of their halves. The first half is that of the root, which is its main device.
 */
export interface Halves {
  readonly group0: readonly number[];
  readonly main0: number;
  readonly group1: readonly number[];
  readonly main1: number;
}

/**
 * Returns the halves of two or more devices for a given root. If the number of devices is odd, the
 * larger half has the devices from `floor(ranks / 2)` on. The main device of the other half is
 * `floor(ranks / 2)` devices after the root, counted around the group. If that device is in the
 * root's half, as happens for one root of an odd number of devices, device 0 is the main device
 * instead.
 */
export function halvesOf(root: number, ranks: number): Halves {
  if (!(Number.isInteger(ranks) && ranks >= 2 && ranks <= 2 ** 16))
    throw new ValueError('ERR_COLL_VALUE', `ranks must be a whole number from 2 to 65536, got ${quote(ranks)}`);
  if (!(Number.isInteger(root) && root >= 0 && root < ranks))
    throw new ValueError('ERR_COLL_VALUE', `root must be a rank below ${ranks}, got ${quote(root)}`);
  const half = Math.floor(ranks / 2);
  const everyone = Array.from({ length: ranks }, (_, rank) => rank);
  const [first, second] = [everyone.slice(0, half), everyone.slice(half)];
  const [group0, group1] = root < half ? [first, second] : [second, first];
  const opposite = (root + half) % ranks;
  return { group0, main0: root, group1, main1: group1.includes(opposite) ? opposite : 0 };
}

/**
 * Each half is summed on its main device, in the order of ranks. The root, one of the two main
 * devices, adds both sums; the other main device copies the total, and all other devices copy it
 * from the main device of their half. This is TensorFlow's hierarchical copy. Each variant has
 * another root, so packs that use the variants in turn use all links.
 *
 *     0 --+      +-- 3                    0 <-+      +-> 3
 *         +-> 1 <=> 4        and back         +-- 1 <=> 4        for 6 devices and root 1
 *     2 --+      +-- 5                    2 <-+      +-> 5
 *
 * Ranks of a gather, a scatter or an all-to-all send their blocks directly to each other.
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
 *
 * const members = openMembers({ size: 4, algorithm: hierarchicalCopyAlgorithm() });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Int32Array([member.rank, 1]))),
 * );
 * console.log(sums[3]); // Int32Array(2) [ 6, 4 ]
 * ```
 */
export function hierarchicalCopyAlgorithm(): Algorithm {
  return algorithm;
}

const algorithm: Algorithm = {
  name: 'hierarchical-copy',
  variants: (ranks) => ranks,
  plan(collective, ranks) {
    const everyone = Array.from({ length: ranks }, (_, rank) => rank);
    switch (collective.kind) {
      case 'all-reduce': {
        const root = variantOf(collective) % ranks;
        return sequence(collect(root, ranks), distribute(root, ranks));
      }
      case 'reduce':
        return collect(collective.root, ranks);
      case 'broadcast':
        return distribute(collective.root, ranks);
      case 'reduce-scatter':
        return together(...everyone.map((block) => onChunks(collect(block, ranks), () => block, ranks)));
      case 'all-gather':
        return together(...everyone.map((block) => onChunks(distribute(block, ranks), () => block, ranks)));
      default:
        return linear(collective, ranks);
    }
  },
};

/** The rounds of transfers after which the root has the sum of all ranks. */
function collect(root: number, ranks: number) {
  if (ranks === 1) return scheduleOf(1, 1, []);
  const { group0, main0, group1, main1 } = halvesOf(root, ranks);
  const to = (main: number, group: readonly number[]): Round =>
    group.filter((from) => from !== main).map((from) => ({ from, to: main, chunk: 0, reduce: true }));
  return scheduleOf(ranks, 1, [[...to(main0, group0), ...to(main1, group1)], to(main0, [main1])]);
}

/** The rounds of transfers that copy the root's buffer to all ranks. */
function distribute(root: number, ranks: number) {
  if (ranks === 1) return scheduleOf(1, 1, []);
  const { group0, main0, group1, main1 } = halvesOf(root, ranks);
  const from = (main: number, group: readonly number[]): Round =>
    group.filter((to) => to !== main).map((to) => ({ from: main, to, chunk: 0, reduce: false }));
  return scheduleOf(ranks, 1, [from(main0, [main1]), [...from(main0, group0), ...from(main1, group1)]]);
}
