import type { CallOrder } from '../runtime/call-order.js';

/**
 * A call of all workers, whose error counts as a refused call: workers that do not get the error
 * wait in this call or have made it. A group that has failed needs no count.
 * @param order the order of the workers' calls; undefined if there are no other workers
 */
export function countingRefusals<Result>(order: CallOrder | undefined, call: Promise<Result>): Promise<Result> {
  if (!order) return call;
  return call.catch((error: unknown) => {
    order.refuse(error);
    throw error;
  });
}
