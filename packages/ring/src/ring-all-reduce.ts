import { AllReduceOps, type AllReduceOptions, type World } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { ringAlgorithm } from './ring-algorithm.js';

/** Packing and engine, as of every all-reduce, and how chunks travel. */
export interface RingOptions extends AllReduceOptions {
  /** Rings that run side by side, each on its own part of every chunk, from rotated starting points. 1 to the number of ranks; default 1. */
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
 * Around a ring, chunk by chunk: each rank sends to one neighbour and receives from the other, `2(N-1)/N` of the buffer.
 * The order of addition of an element depends on the chunk that it falls into, so the bits depend on packing; they are the same on all devices and in every executor.
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

  /** @throws ValueError for a negative `numPacks`, and for options that are no object; CollError for an engine that does not work here */
  constructor(options?: RingOptions, world?: World) {
    const { subChunks = 1, ...others } = optionsOf(options, 'new RingAllReduce({ numPacks: 2 })', ringOptions);
    super({ ...others, algorithm: ringAlgorithm({ subChunks }), fallback: new ReductionToOneDevice(), world });
  }
}
