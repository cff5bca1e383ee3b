import { type TypedArray, tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';

type Call = readonly TypedArray[];

/** A replica whose peers do exactly as it does: means and maxima are its own values. */
export function unisonContext(): { context: ReplicaContext; calls: Call[] } {
  const calls: Call[] = [];
  const allReduceSync = (_op: string, values: Call, { into = values }: { readonly into?: Call } = {}) => {
    calls.push(values);
    for (const [index, value] of values.entries())
      if (value !== into[index]) (into[index] as Float32Array).set(value as Float32Array);
    return values;
  };
  const context = {
    numReplicasInSync: 2,
    replicaIdInSyncGroup: 0,
    allReduceSync,
    allReduce: async (op: string, values: Call, options?: object) => allReduceSync(op, values, options),
    broadcastSync: (value: unknown) => value ?? tensor(0),
  };
  return { context: context as unknown as ReplicaContext, calls };
}
