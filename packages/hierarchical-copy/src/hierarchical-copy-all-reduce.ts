import {
  AllReduceOps,
  type AllReduceOptions,
  type Destinations,
  type DistributedValues,
  logFirst,
  optionsOf,
  type PossiblyMirrored,
  quote,
  type ResolvedOptions,
  type Tensor,
  ValueError,
  type World,
} from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { hierarchicalCopyAlgorithm } from './hierarchical-copy-algorithm.js';

/** Packing and engine, as of every all-reduce. */
export interface HierarchicalCopyOptions extends AllReduceOptions {}

/**
 * All-reduce by copies in two levels, for devices in two halves that are closely linked inside. Pack number `i` has device `i` modulo their number
 * as its root. Whatever the root, a sum is that of the first half in rank order plus that of the second: the bits do not depend on packing.
 */
export class HierarchicalCopyAllReduce extends AllReduceOps {
  readonly name = 'hierarchical-copy';
  readonly #fallback: ReductionToOneDevice;

  /** @throws ValueError for a negative `numPacks`, and for options that are no object; CollError for an engine that does not work here */
  constructor(options?: HierarchicalCopyOptions, world?: World) {
    const packing = optionsOf(options, 'new HierarchicalCopyAllReduce({ numPacks: 2 })');
    requireNumPacks(packing.numPacks);
    const fallback = new ReductionToOneDevice();
    super({
      ...packing,
      algorithm: hierarchicalCopyAlgorithm,
      fallback,
      world,
      routes: (values, ranks) => [{ indices: [...values.keys()], packing, variant: (pack) => pack % ranks }],
    });
    this.#fallback = fallback;
  }

  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    const remark = `there is no gather by hierarchical copy; ${this.#fallback.name} serves it`;
    this.note(remark);
    logFirst(3, 'hierarchical-copy gather', 'warn', `${this.name}: ${remark}`);
    const { options, signal, sharedResult } = call;
    return this.#fallback.gather(value, destinations, axis, { options, signal, sharedResult });
  }
}

function requireNumPacks(numPacks: number | undefined): void {
  if (numPacks === undefined || (Number.isInteger(numPacks) && numPacks >= 0)) return;
  const told = `HierarchicalCopyAllReduce: numPacks must be 0 or more, not ${quote(numPacks)}`;
  throw new ValueError('ERR_COLL_VALUE', told);
}
