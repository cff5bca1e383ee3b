import type { ArrayPlace, FoldRange } from '../kernels/fold.js';
import { arrayKernels } from '../kernels/javascript-kernels.js';
import { ControllerGroup } from '../members/controller-group.js';
import type { Group } from '../runtime/communicator.js';
import { FoldingCommunicator, type FoldSlice, sliced } from '../runtime/folding-communicator.js';
import { type Plan, Plans } from '../runtime/plans.js';
import type { Algorithm } from '../schedule/schedule.js';

// Elements per slice: a few hundred microseconds of work for the slowest dtypes.
const sliceLength = 1 << 14;

/**
 * A communicator of ranks in one thread that combines values in JavaScript, without copies of the
 * caller's memory.
 */
export class JsCommunicator extends FoldingCommunicator<ArrayPlace> {
  readonly group: Group;

  /** @throws ValueError for a size below 1 */
  constructor(size: number, algorithm: Algorithm, group?: Group) {
    super(size, new Plans(algorithm, size, arrayKernels));
    const communicator = (other: Algorithm, own: Group) => new JsCommunicator(size, other, own);
    const ofSize = (ranks: number, other: Algorithm) => new JsCommunicator(ranks, other);
    this.group = group ?? new ControllerGroup({ communicator, ofSize });
  }

  protected slicesOf(span: FoldRange<ArrayPlace>, { makeFold }: Plan<ArrayPlace>): readonly FoldSlice[] {
    return sliced(makeFold(span), span.count, sliceLength);
  }
}
