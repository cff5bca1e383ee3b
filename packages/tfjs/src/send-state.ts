import { InvalidArgumentError, RuntimeError, type Tensor } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import { exchange, gatherValues, oddReplicas } from '@coll/strategy/internal';
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

/** The error that replica 0 sends, or its result. */
interface Outcome<Result> {
  readonly error?: string;
  readonly result?: Result;
}

/**
 * Calls a function on replica 0. Returns its result, which must be a JSON value or undefined, on all
 * replicas.
 * @throws RuntimeError, on all replicas, if the function throws
 */
export async function onReplica0<Result>(
  context: Sender,
  operation: string,
  work: () => Promise<Result>,
): Promise<Result> {
  let outcome: Outcome<Result> = {};
  let cause: unknown;
  if (context.replicaIdInSyncGroup === 0) {
    try {
      outcome = { result: await work() };
    } catch (error) {
      cause = error;
      outcome = { error: messageOf(error) };
    }
  }
  const { error, result } = await broadcastJson(outcome, context);
  if (error === undefined) return result as Result;
  throw new RuntimeError('ERR_COLL_CHECKPOINT', `${operation}: ${error}`, { rank: 0, operation, cause });
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

async function broadcastJson<Value>(value: Value, context: Sender): Promise<Value> {
  if (context.numReplicasInSync === 1) return value;
  const bytes = await broadcastBytes(new TextEncoder().encode(JSON.stringify(value)), context);
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Sends the bytes of replica 0 to all replicas. */
async function broadcastBytes(bytes: Uint8Array | undefined, context: Sender): Promise<Uint8Array> {
  const own = context.replicaIdInSyncGroup === 0 ? (bytes as Uint8Array) : undefined;
  const { data: length } = (await context.broadcast(Float64Array.of(own?.length ?? 0))) as Tensor;
  const { data } = (await context.broadcast(own ?? new Uint8Array(Number(length[0])))) as Tensor;
  return data as Uint8Array;
}
