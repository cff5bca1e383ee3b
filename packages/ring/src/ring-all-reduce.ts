import { AllReduceOps, type AllReduceOptions, type World } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { ringAlgorithm } from './ring-algorithm.js';

/** The packing and engine options of every all-reduce, and the number of rings. */
export interface RingOptions extends AllReduceOptions {
  /**
   * Number of concurrent rings, 1 to the number of ranks. Each ring carries its own part of every
   * chunk and has a different starting point. Default: 1.
   */
  readonly subChunks?: number | undefined;
}

const ringOptions = knownOptions<RingOptions>('RingAllReduce', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  subChunks: true,
});

/**
 * All-reduce around a ring, chunk by chunk: each of N ranks sends `2(N-1)/N` of the buffer to one
 * neighbour, and receives as much from the other neighbour. The order in which contributions are
 * added depends on an element's chunk, so rounding depends on packing. Results are bitwise equal on
 * all devices and in every engine.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { RingAllReduce } from '@coll/ring';
 *
 * const gradient = new PerReplica([
 *   tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
 *   tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
 * ]);
 * await using ops = new RingAllReduce();
 * const sum = await ops.reduce('SUM', gradient, 'cpu:0');
 * console.log('values' in sum ? sum.values[0]?.data : sum.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export class RingAllReduce extends AllReduceOps {
  readonly name = 'ring';

  /**
   * @throws ValueError for a negative `numPacks`, or unless `options` is an object; CollError if
   * the engine does not work on this platform
   */
  constructor(options?: RingOptions, world?: World) {
    const { subChunks = 1, ...others } = optionsOf(options, 'new RingAllReduce({ numPacks: 2 })', ringOptions);
    super({ ...others, algorithm: ringAlgorithm({ subChunks }), fallback: new ReductionToOneDevice(), world });
  }
}
