import { type CommunicationOptionsInit, RuntimeError, type ThreadGroup } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { Task } from './cluster/cluster-rules.js';
import type { ClusterDescription } from './cluster/cluster-spec.js';
import type { WorkerSeat } from './multi-worker/open-worker-group.js';
import type { EncodedError } from './thread-errors.js';

/** Replicas of one process, whose collectives are those of a plug-in. */
export interface PluginHome {
  readonly plugin: { readonly name: string; readonly module: string; readonly options: unknown };
}

/** Replicas of one worker among several. Plain data, which can be posted to a thread. */
export interface WorkerHome {
  readonly cluster: ClusterDescription;
  /** Undefined for a worker that is alone. */
  readonly task: Task | undefined;
  /** The place of the first replica of this worker in the group that it forms with those of the others; undefined for a worker that is alone. */
  readonly seat: WorkerSeat | undefined;
  readonly communication: CommunicationOptionsInit;
  /** What is to be registered as `nccl` in the thread. */
  readonly nccl: PluginHome['plugin'] | undefined;
}

/** What a replica thread starts with. */
export interface ThreadStart {
  /** Its number among the replicas of this process. */
  readonly replica: number;
  /** The id of the first of them. */
  readonly firstReplica: number;
  /** Of the replicas of this process. */
  readonly devices: readonly string[];
  readonly group: ThreadGroup;
  readonly home: PluginHome | WorkerHome;
  readonly module: string;
  readonly exportName: string | undefined;
  readonly args: unknown;
}

/** What a replica says; a result or an error last. */
export type ReplicaMessage =
  | { readonly type: 'report'; readonly value: unknown }
  /** It has come to a merge call, with these arguments. */
  | { readonly type: 'merge'; readonly args: unknown }
  /** It has held a merge call for all: their parts of the outcome, or why there is none. */
  | { readonly type: 'merged'; readonly results: readonly unknown[] }
  | { readonly type: 'mergeFailed'; readonly error: EncodedError }
  | { readonly type: 'result'; readonly value: unknown }
  | { readonly type: 'error'; readonly error: EncodedError };

/** What comes from its thread: in the end, that everything that it printed has got through. */
export type FromReplica = ReplicaMessage | { readonly type: 'end' };

/** What it is told: to hold a merge call for all, or its part of the outcome. */
export type ToReplica =
  | { readonly type: 'hold'; readonly args: readonly unknown[] }
  | { readonly type: 'outcome'; readonly value: unknown };

/** Posts a message. @throws RuntimeError that says what cannot be posted */
export function post(
  port: { postMessage(message: unknown): void },
  message: FromReplica | ToReplica,
  what: string,
): void {
  try {
    port.postMessage(message);
  } catch (cause) {
    throw notCloneable(what, cause);
  }
}

export function notCloneable(what: string, cause: unknown): RuntimeError {
  return new RuntimeError(
    'ERR_COLL_NOT_CLONEABLE',
    `${what} cannot be posted between threads (${messageOf(cause)}); hand over plain data and tensors`,
    { cause },
  );
}
