import { InternalError, RuntimeError } from '@coll/core';
import { type FrameReplica, localIdOf } from '../scope/contexts.js';
import type { Variable } from '../variables/variable.js';
import type { VariableTraits } from '../variables/variable-options.js';

/**
 * The variables that the replicas of one run have created, in order. The n-th variable of each
 * replica is the same one.
 */
interface RunVariables {
  readonly made: Variable[];
  /** Number of variables that each replica has created. */
  readonly counts: Map<FrameReplica, number>;
}

const runs = new WeakMap<FrameReplica, RunVariables>();

/** Makes these replicas share their variables, as the replicas of one run. */
export function shareVariables(replicas: readonly FrameReplica[]): void {
  const run: RunVariables = { made: [], counts: new Map() };
  for (const replica of replicas) runs.set(replica, run);
}

/** Whether the replica shares its variables with the other replicas of a run in one thread. */
export function sharesVariables(replica: FrameReplica): boolean {
  return runs.has(replica);
}

/**
 * The next variable of a replica: replica 0 creates it, and the others get the same one.
 * @throws RuntimeError if replica 0 has not created it yet; InternalError if a replica requests a
 * variable with different traits
 */
export function nextVariable(replica: FrameReplica, traits: VariableTraits, make: () => Variable): Variable {
  const { made, counts } = runs.get(replica) as RunVariables;
  const count = counts.get(replica) ?? 0;
  const id = replica.replicaIdInSyncGroup;
  if (localIdOf(replica) === 0) made.push(make());
  const variable = made[count];
  if (!variable) {
    const message = `replica ${id} creates a variable that replica ${id - localIdOf(replica)} has not created: all replicas must create the same variables`;
    throw new RuntimeError('ERR_COLL_CONTEXT', message, { rank: id });
  }
  const [first, mine] = [variable, traits].map(textOf);
  if (first !== mine) {
    const message = `replica ${id - localIdOf(replica)} creates ${first}, replica ${id} creates ${mine}; all replicas must create the same variables`;
    throw new InternalError('ERR_COLL_MISMATCH', message, { rank: id });
  }
  counts.set(replica, count + 1);
  return variable;
}

function textOf({ name, dtype, shape, synchronization, aggregation }: VariableTraits): string {
  return `variable "${name}" of ${dtype} [${shape}], ${synchronization}, ${aggregation}`;
}
