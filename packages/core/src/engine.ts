import type { Communicator } from './communicator.js';
import type { ProbeResult } from './plugins/plugin.js';
import type { Algorithm } from './schedule/schedule.js';
import type { ThreadGroup, ThreadGroupOptions } from './threads/thread-group.js';

/** What plays schedules: C++ threads, WebAssembly, or plain JavaScript. */
export type EngineName = 'native' | 'wasm' | 'js';

/** A name, or `'auto'`: the fastest that is here. */
export type EngineRequest = 'auto' | EngineName;

/** Which rank of a group joins, and what the group plays. */
export interface JoinRequest {
  readonly rank: number;
  readonly algorithm: Algorithm;
}

/** Makes the communicators that play an algorithm among ranks of one process. All engines give the same bits. */
export interface Engine {
  readonly name: EngineName;
  /** Whether it works here: its binary is there, the platform has what it needs. */
  probe(): ProbeResult;
  /** One controller hands in the buffers of all ranks. */
  communicator(size: number, algorithm: Algorithm): Communicator;
  /** What threads share that join a group; it can be posted to them. */
  createGroup(options: ThreadGroupOptions): ThreadGroup;
  /** One rank of a group, whose other ranks live in other threads. */
  join(group: ThreadGroup, request: JoinRequest): Communicator;
}
