import type { Communicator, Tensor } from '@coll/core';

/** The elementwise maximum over the ranks of a communicator, in place, blocking. */
export function agreeThrough(communicator: Communicator, values: Float64Array): void {
  // If all ranks are local, this thread already has their maximum.
  if (communicator.localRanks.length === communicator.size) return;
  const tensor: Tensor = { data: values, dtype: 'float64', shape: [values.length], device: '' };
  communicator.runSync({ kind: 'all-reduce', op: 'max' }, [tensor], [tensor]);
}
