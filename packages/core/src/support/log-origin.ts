import { environment } from './environment.js';
import { operatingSystem } from './operating-system.js';

/** Which member of a job logs: the parts of a line's fields that are equal for all lines of a thread. */
export interface LogOrigin {
  readonly rank?: number | undefined;
  readonly worker?: number | undefined;
  readonly host?: string | undefined;
}

interface ThreadOrigin {
  rank?: number | undefined;
  worker?: number | undefined;
  /** Whether this is the thread of a replica, whose lines begin with its number. */
  isReplica?: boolean;
}

let own: ThreadOrigin = {};
let hostName: string | undefined;

/** Lines of this thread have this rank or worker from now on. The rank of a replica's thread is the number of the replica. */
export function setLogOrigin(origin: ThreadOrigin): void {
  own = { ...own, ...origin };
}

/**
 * Lines of this thread have the rank of a group that it has joined, unless a launcher has numbered the process, or the
 * thread is also another rank.
 */
export function joinLogOrigin(rank: number): void {
  if (own.isReplica) return;
  own = { ...own, rank: own.rank === undefined || own.rank === rank ? rank : undefined };
}

/** Whether this is the thread of a replica. */
export function isReplicaThread(): boolean {
  return own.isReplica === true;
}

/** The origin of the lines of this thread. */
export function logOrigin(): LogOrigin {
  hostName ??= operatingSystem()?.hostname();
  const launched = environment('COLL_RANK');
  const rank = own.isReplica || !launched ? own.rank : Number(launched);
  return { rank, worker: own.worker, host: hostName };
}

/** Whether each line already begins with the rank, as under `coll run` and in the threads of replicas. */
export function hasRankPrefix(): boolean {
  if (environment('COLL_PREFIX') === '0') return false;
  return own.isReplica === true || environment('COLL_RESTART') !== undefined;
}
