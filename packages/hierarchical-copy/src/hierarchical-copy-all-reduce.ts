import {
  AllReduceOps,
  type AllReduceOptions,
  type Destinations,
  type DistributedValues,
  type PossiblyMirrored,
  type ResolvedOptions,
  type Tensor,
  type World,
} from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { hierarchicalCopyAlgorithm } from './hierarchical-copy-algorithm.js';

/** Packing and engine, as of every all-reduce. */
export interface HierarchicalCopyOptions extends AllReduceOptions {}

const hierarchicalCopyOptions = knownOptions<HierarchicalCopyOptions>('HierarchicalCopyAllReduce', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
});

/**
 * All-reduce by copies in two levels, for devices in two halves that are closely linked inside. Pack number `i` has device `i` modulo their number
 * as its root. Whatever the root, a sum is that of the first half in rank order plus that of the second: the bits do not depend on packing.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { HierarchicalCopyAllReduce } from '@coll/hierarchical-copy';
 *
 * const gradient = new PerReplica([
 *   tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
 *   tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
 * ]);
 * await using ops = new HierarchicalCopyAllReduce();
 * const sum = await ops.reduce('SUM', gradient, 'cpu:0');
 * console.log('values' in sum ? sum.values[0]?.data : sum.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export class HierarchicalCopyAllReduce extends AllReduceOps {
  readonly name = 'hierarchical-copy';

  /** @throws ValueError for a negative `numPacks`, and for options that are no object; CollError for an engine that does not work here */
  constructor(options?: HierarchicalCopyOptions, world?: World) {
    const packing = optionsOf(options, 'new HierarchicalCopyAllReduce({ numPacks: 2 })', hierarchicalCopyOptions);
    super({
      ...packing,
      algorithm: hierarchicalCopyAlgorithm(),
      fallback: new ReductionToOneDevice(),
      world,
      routes: (values, ranks) => [{ indices: [...values.keys()], packing, variant: (pack) => pack % ranks }],
    });
  }

  protected override gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    return this.gatherElsewhere(value, destinations, axis, call);
  }
}
