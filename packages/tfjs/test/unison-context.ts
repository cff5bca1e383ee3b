import { type TypedArray, tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';

type Call = readonly TypedArray[];

/** A replica whose peers do exactly as it does: means and maxima are its own values. */
export function unisonContext(): { context: ReplicaContext; calls: Call[] } {
  const calls: Call[] = [];
  const allReduceSync = (_op: string, values: Call) => {
    calls.push(values);
    return values;
  };
  const context = {
    numReplicasInSync: 2,
    replicaIdInSyncGroup: 0,
    allReduceSync,
    allReduce: async (op: string, values: Call) => allReduceSync(op, values),
    broadcastSync: (value: unknown) => value ?? tensor(0),
  };
  return { context: context as unknown as ReplicaContext, calls };
}
