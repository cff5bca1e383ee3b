import type { Exchange, ReplicaInfo } from './exchange.js';

/**
 * Sends a value of each replica, as JSON, to all replicas. Returns all values in replica order.
 * Uses all-reduces because, unlike a gather, they exist in a blocking and an asynchronous form.
 */
export function* gatherValues<Value>(
  value: Value,
  { numReplicasInSync, replicaIdInSyncGroup }: ReplicaInfo,
): Exchange<Value[]> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const longest = Float64Array.of(bytes.length);
  yield { op: 'max', values: [longest], into: [longest] };
  const width = longest[0] as number;
  const rows = new Uint8Array(width * numReplicasInSync);
  rows.set(bytes, width * replicaIdInSyncGroup);
  yield { op: 'sum', values: [rows], into: [rows] };
  return Array.from({ length: numReplicasInSync }, (_, replica) => {
    const row = rows.subarray(width * replica, width * (replica + 1));
    const end = row.indexOf(0);
    return JSON.parse(new TextDecoder().decode(end < 0 ? row : row.subarray(0, end))) as Value;
  });
}

/**
 * The replicas whose value differs from that of most replicas, or from that of replica 0 if no
 * value is more frequent.
 */
export function oddReplicas(values: readonly string[]): number[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let usual = values[0] as string;
  for (const [value, count] of counts) if (count > (counts.get(usual) as number)) usual = value;
  return [...values.keys()].filter((replica) => values[replica] !== usual);
}

/** For each number, whether it is equal on all replicas. Takes a single all-reduce. */
export function* whichAreEqual(numbers: readonly number[]): Exchange<boolean[]> {
  const extremes = Float64Array.from(numbers.flatMap((number) => [number, -number]));
  yield { op: 'max', values: [extremes], into: [extremes] };
  return numbers.map((_, index) => extremes[2 * index] === -(extremes[2 * index + 1] as number));
}
