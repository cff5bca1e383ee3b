import { AllReduceCrossDeviceOps, type PackingOptions, type World } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { directAlgorithm } from './direct-algorithm.js';

export interface DirectOptions extends PackingOptions {}

/**
 * Each rank combines its own chunk straight from everyone and hands it to everyone: the natural choice in one address space.
 * Contributions are combined in rank order, so the bits do not depend on packing, batch order or executor.
 */
export class DirectAllReduce extends AllReduceCrossDeviceOps {
  readonly name = 'direct';

  /** @throws ValueError for a negative `numPacks` */
  constructor(packing: DirectOptions = {}, world?: World) {
    super({ ...packing, algorithm: directAlgorithm, fallback: new ReductionToOneDevice(), world });
  }
}
