import { RuntimeError, type Tensor } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { ReplicaContext } from '../scope/strategy.js';
import type { ReplicaInfo } from './exchange.js';

export type Broadcaster = ReplicaInfo & Pick<ReplicaContext, 'broadcast'>;

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
  context: Broadcaster,
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

async function broadcastJson<Value>(value: Value, context: Broadcaster): Promise<Value> {
  if (context.numReplicasInSync === 1) return value;
  const bytes = await broadcastBytes(new TextEncoder().encode(JSON.stringify(value)), context);
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Sends the bytes of replica 0 to all replicas. */
export async function broadcastBytes(bytes: Uint8Array | undefined, context: Broadcaster): Promise<Uint8Array> {
  const own = context.replicaIdInSyncGroup === 0 ? (bytes as Uint8Array) : undefined;
  const { data: length } = (await context.broadcast(Float64Array.of(own?.length ?? 0))) as Tensor;
  const { data } = (await context.broadcast(own ?? new Uint8Array(Number(length[0])))) as Tensor;
  return data as Uint8Array;
}
