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
    'among processes NCCL all-reduces dense values that stay on their GPUs, and joins what is in their memory, and nothing else';
  const cure = 'use CollectiveAllReduce of @coll/multi-worker, which has the rest served on the host';
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', `${operation}: ${told}: ${cure}`, { operation });
}
