import { InvalidArgumentError } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import { broadcastBytes, exchange, gatherValues, oddReplicas } from '@coll/strategy/internal';
import { arraysFrom, bytesOf, type NamedArray, specsOf } from './named-arrays.js';
import { settingsOf } from './optimizer-state.js';
import { requireSameVariables } from './same-variables.js';
import { type StateSnapshot, type TrainingState, variablesOf } from './training-state.js';

/** The collectives with which replicas send states. */
export type Sender = Pick<
  ReplicaContext,
  'numReplicasInSync' | 'replicaIdInSyncGroup' | 'allReduce' | 'allReduceSync' | 'broadcast'
>;

/**
 * Checks that the states of all replicas have equal weights and the same optimizer.
 * @throws InvalidArgumentError, the same on all replicas, if they differ
 */
export async function requireSameStates({ model, optimizer }: TrainingState, context: Sender): Promise<void> {
  if (context.numReplicasInSync === 1) return;
  await exchange(requireSameVariables(variablesOf(model), context), context);
  const names = await exchange(gatherValues(optimizer ? settingsOf(optimizer).name : 'none', context), context);
  const [rank] = oddReplicas(names);
  if (rank === undefined) return;
  const texts = names.map((name, replica) => `${name} on replica ${replica}`).join(', ');
  throw new InvalidArgumentError('ERR_COLL_MISMATCH', `replicas have different optimizers: ${texts}`, { rank });
}

/** Sends the arrays of replica 0 to all replicas. The others pass their names, dtypes and shapes. */
export async function broadcastState(
  description: StateDescription,
  snapshot: StateSnapshot | undefined,
  context: Sender,
): Promise<StateSnapshot> {
  if (context.numReplicasInSync === 1) return snapshot as StateSnapshot;
  const bytes = await broadcastBytes(snapshot && bytesOf(arraysOf(snapshot)), context);
  return stateFrom(description, bytes);
}

/** A snapshot without the elements of its arrays, as JSON. */
export type StateDescription = ReturnType<typeof describeState>;

/** Describes a snapshot without the elements of its arrays. */
export function describeState({ epoch, step, data, weights, trained, optimizer }: StateSnapshot) {
  return {
    epoch,
    step,
    data,
    weights: specsOf(weights),
    trained,
    optimizer: optimizer && {
      ...optimizer,
      weights: specsOf(optimizer.weights),
      fields: specsOf(optimizer.fields),
    },
  };
}

function arraysOf({ weights, optimizer }: StateSnapshot): NamedArray[] {
  return [...weights, ...(optimizer?.weights ?? []), ...(optimizer?.fields ?? [])];
}

function stateFrom(description: StateDescription, bytes: Uint8Array): StateSnapshot {
  const { weights, optimizer } = description;
  const specs = [...weights, ...(optimizer?.weights ?? []), ...(optimizer?.fields ?? [])];
  const arrays = arraysFrom(specs, bytes);
  const end = weights.length + (optimizer?.weights.length ?? 0);
  return {
    ...description,
    weights: arrays.slice(0, weights.length),
    optimizer: optimizer && { ...optimizer, weights: arrays.slice(weights.length, end), fields: arrays.slice(end) },
  };
}
