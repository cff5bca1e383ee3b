import { RuntimeError, type ThreadGroup } from '@coll/core';
import { type HostChannel, messageOf, type RunNote } from '@coll/core/internal';
import type { ClusterDescription } from '@coll/rendezvous/internal';
import type { StrategyFigures } from '../choice/strategy-log.js';
import type { Tsx } from '../node/module-loading.js';
import type { EncodedError } from './thread-errors.js';

/** Replicas of one process, whose collectives are those of a plug-in. */
export interface PluginSetup {
  readonly plugin: { readonly name: string; readonly module: string; readonly options: unknown };
  /** After how many collectives replicas compare results. Default: 0, which means never. */
  readonly checkResults?: number;
}

/** Replicas of one worker of a cluster. Plain data that can be posted to a thread. */
export interface ClusterSetup {
  readonly cluster: ClusterDescription;
}

/** The start data of a replica's thread. */
export interface ThreadStart {
  /** Index among the replicas of this process. */
  readonly replica: number;
  /** The id of the first replica of this process. */
  readonly firstReplica: number;
  /** The devices of this process's replicas. */
  readonly devices: readonly string[];
  readonly group: ThreadGroup;
  readonly setup: PluginSetup | ClusterSetup;
  /** The state of the `ProcessEndRequests` of this process. */
  readonly endRequests: Int32Array<SharedArrayBuffer>;
}

/** Asks a replica's thread to call a function of a module. */
export interface RunMessage {
  readonly type: 'run';
  readonly module: string;
  readonly exportName: string | undefined;
  /** Registered before the module is imported, unless the thread has done so already. */
  readonly tsx: Tsx | undefined;
  readonly args: unknown;
  /** Whether the replica records its steps. */
  readonly isRecorded?: boolean;
}

/** The message of a replica whose function has returned. */
export interface ResultMessage {
  readonly type: 'result';
  readonly value: unknown;
  /** Whether the replicas can make further collectives. */
  readonly canGoOn: boolean;
  /** Number of bytes that the thread has printed since its start. */
  readonly printed: number;
  /** What this replica wants to be logged if other replicas want the same. */
  readonly note?: RunNote | undefined;
}

/** Messages of a replica. A run ends with a result or an error. The answer to `leave` is `left` or an error. */
export type ReplicaMessage =
  | { readonly type: 'report'; readonly value: unknown }
  | { readonly type: 'records'; readonly rows: Float64Array }
  /** The replica has reached a merge call with these arguments. */
  | { readonly type: 'merge'; readonly args: unknown }
  /** The replica has run a merge call for all replicas. `results` has the part of each replica. */
  | { readonly type: 'merged'; readonly results: readonly unknown[] }
  | { readonly type: 'mergeFailed'; readonly error: EncodedError }
  /** From now on, a request to end the process is kept, until the run ends. */
  | { readonly type: 'acceptEnd' }
  | ResultMessage
  /** The replica has left the run, as asked, and no other replica waits for it. */
  | { readonly type: 'left'; readonly canGoOn: boolean }
  | { readonly type: 'error'; readonly error: EncodedError };

/**
 * Messages from the replica's thread. `end` follows the last one, once all output of the thread has
 * been transferred. `figures`: what the replica has done, unless it failed.
 */
export type FromReplica = ReplicaMessage | { readonly type: 'end'; readonly figures?: StrategyFigures | undefined };

/**
 * Messages to the replica's thread: `hold` asks it to run a merge call for all replicas; `outcome`
 * contains its part of the result; `leave` asks it to meet the replicas that wait for it, although its function has
 * returned; `close` asks it to end after the run under way.
 */
export type ToReplica =
  | RunMessage
  | { readonly type: 'hold'; readonly args: readonly unknown[] }
  | { readonly type: 'outcome'; readonly value: unknown }
  | { readonly type: 'leave' }
  | { readonly type: 'close' };

/**
 * Posts a message, and moves the memory in `moved` to the receiver.
 * @throws RuntimeError that names the value that cannot be posted
 */
export function post(
  port: Pick<HostChannel, 'postMessage'>,
  message: FromReplica | ToReplica,
  what: string,
  moved?: readonly ArrayBuffer[],
): void {
  try {
    port.postMessage(message, moved);
  } catch (cause) {
    throw notCloneable(what, cause);
  }
}

export function notCloneable(what: string, cause: unknown): RuntimeError {
  return new RuntimeError(
    'ERR_COLL_NOT_CLONEABLE',
    `${what} cannot be sent to another thread (${withoutSource(messageOf(cause))}); use plain data and tensors`,
    { cause },
  );
}

/** The message of a DataCloneError, which contains the whole source of a function, on one short line. */
function withoutSource(message: string): string {
  const [, source = '', problem = ''] = /^(.*?)( could not be cloned\.)?$/s.exec(message) ?? [];
  const [line = ''] = source.split('\n');
  return line.length === source.length && line.length <= 80 ? message : `${line.slice(0, 60)} …${problem}`;
}
