import type { ValueLists } from '../replicas/batch.js';
import type { ReplicaGroup } from '../replicas/replica-group.js';
import type { Work } from '../runtime/drive.js';
import { NotImplementedError, RuntimeError, ValueError } from '../support/errors.js';

interface Replicas {
  readonly name: string;
  readonly replicaGroup: ReplicaGroup | undefined;
}

/** The error of a call of ops that are closed. */
export function closedOps(name: string, operation: string): RuntimeError {
  const message = `${operation}: these ${name} ops were closed; create new ops`;
  return new RuntimeError('ERR_COLL_CLOSED', message, { operation });
}

/** The error of a call that would leave out the values of other workers. */
export function unreachedRanks(name: string, why: string): ValueError {
  const message = `all-reduce: the ${name} ops cannot combine values of this process with those of other workers: ${why}`;
  const advice = 'use ops whose all-reduce is an algorithm, as that of AllReduceOps is';
  return new ValueError('ERR_COLL_REFUSED', `${message}; ${advice}`, { operation: 'all-reduce' });
}

/**
 * Work that includes the values of other workers.
 * @throws ValueError unless a communicator with ranks elsewhere executes it
 */
export function reachingAll(name: string, work: Work<ValueLists> | undefined): Work<ValueLists> {
  if (work?.on && work.on.localRanks.length < work.on.size) return work;
  throw unreachedRanks(name, 'their methods get the components of this process only');
}

/**
 * The group of the replicas that call ops.
 * @throws NotImplementedError for ops that were made for no replicas
 */
export function replicasOf({ name, replicaGroup }: Replicas, operation: string): ReplicaGroup {
  if (replicaGroup) return replicaGroup;
  const message = `${name} cannot ${operation} inside a replica, because it was created without a world; let a strategy create it, or pass a world to its constructor`;
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation });
}
