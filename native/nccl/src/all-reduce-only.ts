import { CrossDeviceOps, NotImplementedError } from '@coll/core';

/**
 * Cross-device ops that throw on every call. With several processes they replace the ops for
 * operations that NCCL does not execute, unless the user configures other ops.
 */
export class AllReduceOnly extends CrossDeviceOps {
  readonly name = 'nobody';

  protected override async reduceImplementation(): Promise<never> {
    return refuse('reduce');
  }

  protected override async gatherImplementation(): Promise<never> {
    return refuse('gather');
  }
}

function refuse(operation: string): never {
  const message =
    'with several processes, NCCL only all-reduces dense values whose results stay on the same GPUs, and gathers values in GPU memory';
  const advice = 'for other operations use CollectiveAllReduce of @coll/multi-worker, which executes them on the host';
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', `${operation}: ${message}: ${advice}`, { operation });
}
