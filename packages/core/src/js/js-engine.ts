import type { ArrayLocation, FoldRange } from '../kernels/fold.js';
import { arrayKernels } from '../kernels/javascript-kernels.js';
import { ControllerGroup } from '../members/controller-group.js';
import { recordedCommunicator } from '../record/recorder-hook.js';
import type { Group } from '../runtime/communicator.js';
import type { Engine } from '../runtime/engine.js';
import { FoldingCommunicator, type FoldSlice, sliced } from '../runtime/folding-communicator.js';
import { type Plan, Plans } from '../runtime/plans.js';
import type { Algorithm } from '../schedule/schedule.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';

// Elements per slice: a few hundred microseconds of work for the slowest dtypes.
const sliceLength = 1 << 14;

/**
 * A communicator of ranks in one thread that combines values in JavaScript, without copies of the
 * caller's memory.
 */
export class JsCommunicator extends FoldingCommunicator<ArrayLocation> {
  readonly group: Group;

  /** @throws ValueError for a size below 1 */
  constructor(size: number, algorithm: Algorithm, group?: Group) {
    super(size, new Plans(algorithm, size, arrayKernels));
    const communicator = (other: Algorithm, own: Group) => new JsCommunicator(size, other, own);
    const ofSize = (ranks: number, other: Algorithm) => new JsCommunicator(ranks, other);
    this.group = group ?? new ControllerGroup({ communicator, ofSize, recorded: { engine: 'js', size } });
    this.recorded = recordedCommunicator(this.group, algorithm.name, 'coarse');
  }

  protected slicesOf(span: FoldRange<ArrayLocation>, { makeFold }: Plan<ArrayLocation>): readonly FoldSlice[] {
    return sliced(makeFold(span), span.count, sliceLength);
  }
}

/**
 * The engine in plain JavaScript, which works everywhere but on pages whose content security policy forbids `unsafe-eval`.
 *
 * @example
 * ```ts
 * import { jsEngine, tensor } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const communicator = jsEngine.communicator(2, directAlgorithm());
 * const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
 * communicator.runSync({ kind: 'all-reduce', op: 'mean' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 2, 3 ]
 * ```
 */
export const jsEngine: Engine = {
  name: 'js',
  probe: () =>
    evaluates()
      ? { available: true }
      : {
          available: false,
          reason:
            "the content security policy of this page forbids generated code: allow 'unsafe-eval' in script-src, or WebAssembly",
        },
  communicator: (size, algorithm) => new JsCommunicator(size, algorithm),
  createGroup: (options) => createThreadGroup(options),
  join: (group, request) => new ThreadCommunicator(group, request),
};

/** Whether the platform may make functions from text, as the loops over elements are made. */
function evaluates(): boolean {
  try {
    return new Function('return true')() as boolean;
  } catch {
    return false;
  }
}
