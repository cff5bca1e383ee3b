import type { ReplicaInfo } from './exchange.js';

/**
 * What happens if the number of rows does not divide by the number of replicas: 'exact' repeats a row, with weight 0,
 * on replicas that have one row less than others; 'drop' leaves the last rows out.
 */
export type Remainder = 'exact' | 'drop';

/** The rows of one replica. */
export interface RowsOfReplica {
  /** Row i of the data goes to replica i mod N. */
  readonly rows: Int32Array;
  /** How many there are without the repeated row, which is the last. */
  readonly own: number;
}

/** The rows of this replica. With 'exact', all replicas get the same number of rows. */
export function rowsOfReplica(total: number, info: ReplicaInfo, remainder: Remainder): RowsOfReplica {
  const own = ownRowsOfReplica(total, info, remainder);
  const { replicaIdInSyncGroup: id, numReplicasInSync: replicas } = info;
  const length = remainder === 'drop' ? own.length : Math.ceil(total / replicas);
  if (length === own.length) return { rows: own, own: length };
  const rows = new Int32Array(length);
  rows.set(own);
  // A replica without a row of its own repeats the first one.
  rows[length - 1] = own.at(-1) ?? id % total;
  return { rows, own: own.length };
}

/** The rows of this replica without a repeated one. With 'exact', replicas may get different numbers of rows. */
export function ownRowsOfReplica(
  total: number,
  { replicaIdInSyncGroup: id, numReplicasInSync: replicas }: ReplicaInfo,
  remainder: Remainder,
): Int32Array {
  const own = remainder === 'drop' ? Math.floor(total / replicas) : Math.ceil(Math.max(0, total - id) / replicas);
  return Int32Array.from({ length: own }, (_, index) => id + index * replicas);
}

/** The numbers next to `rows` that divide by the number of replicas, as advice. */
export function nearestMultiples(rows: number, replicas: number): string {
  const below = Math.floor(rows / replicas) * replicas;
  return below > 0 ? `${below} or ${below + replicas}` : `${replicas}`;
}
