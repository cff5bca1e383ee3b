import { AllReduceOps, type AllReduceOptions, type World } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { directAlgorithm } from './direct-algorithm.js';

/** The packing and engine options of every all-reduce. */
export interface DirectOptions extends AllReduceOptions {}

const directOptions = knownOptions<DirectOptions>('DirectAllReduce', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
});

/**
 * Each rank combines its own chunk directly from all ranks and sends the result to all, which suits
 * ranks that share memory. Contributions are combined in rank order, so results are bitwise equal
 * for any packing, batch order and engine.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { DirectAllReduce } from '@coll/direct';
 *
 * const gradient = new PerReplica([
 *   tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
 *   tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
 * ]);
 * await using ops = new DirectAllReduce();
 * const sum = await ops.reduce('SUM', gradient, 'cpu:0');
 * console.log('values' in sum ? sum.values[0]?.data : sum.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export class DirectAllReduce extends AllReduceOps {
  readonly name = 'direct';

  /**
   * @throws ValueError for a negative `numPacks`, or unless `options` is an object; CollError if
   * the engine does not work on this platform
   */
  constructor(options?: DirectOptions, world?: World) {
    const packing = optionsOf(options, 'new DirectAllReduce({ numPacks: 2 })', directOptions);
    super({ ...packing, algorithm: directAlgorithm(), fallback: new ReductionToOneDevice(), world });
  }
}
