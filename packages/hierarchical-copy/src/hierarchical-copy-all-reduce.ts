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

/** The packing and engine options of every all-reduce. */
export interface HierarchicalCopyOptions extends AllReduceOptions {}

const hierarchicalCopyOptions = knownOptions<HierarchicalCopyOptions>('HierarchicalCopyAllReduce', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
});

/**
 * All-reduce by copies in two levels, for devices in two halves with fast links inside each half.
 * The root of pack `i` is device `i` modulo the number of devices. For any root, the sum of one
 * half, in rank order, is added to the sum of the other half, so results are bitwise equal for any
 * packing.
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

  /**
   * @throws ValueError for a negative `numPacks`, or unless `options` is an object; CollError if
   * the engine does not work on this platform
   */
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
