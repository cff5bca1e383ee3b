import { CrossDeviceOps, NotImplementedError } from '@coll/core';

/** In the place of ops that would serve the rest: values of several processes cannot be brought together by what is here. */
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
  const told =
    'across processes NCCL only all-reduces dense values that stay on their GPUs and concatenates values in GPU memory';
  const cure = 'use CollectiveAllReduce of @coll/multi-worker, which executes everything else on the host';
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', `${operation}: ${told}: ${cure}`, { operation });
}
