import type { Communicator } from '../collectives/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { ArenaMemory } from '../threads/arena.js';

/** What plays schedules: C++ threads, WebAssembly, or plain JavaScript. */
export type EngineName = 'native' | 'wasm' | 'js';

/** A name, or `'auto'`: the fastest that is here. */
export type EngineRequest = 'auto' | EngineName;

/** Whether something can be used here and now; where not, why. */
export type ProbeResult = { readonly available: true } | { readonly available: false; readonly reason: string };

/** What the threads of a group share. It can be posted to them; each then joins with its rank. */
export interface ThreadGroup {
  /** What plays in this group; its members join with the same. */
  readonly engine: EngineName;
  /** Of this group and no other. */
  readonly id: string;
  readonly size: number;
  /** Looks at a peer's count before a waiting thread goes to sleep. */
  readonly spins: number;
  readonly control: SharedArrayBuffer;
  readonly descriptors: SharedArrayBuffer;
  readonly arena: ArenaMemory;
  /** More of the native engine's own. */
  readonly board?: SharedArrayBuffer;
}

/** How large a group of threads is, and what it may take. */
export interface ThreadGroupOptions {
  /** Ranks in the group, each in a thread of its own. */
  readonly size: number;
  /** Upper bound of the memory that the group shares. Default, and most: 2 GiB of addresses, of which only what is used is taken. */
  readonly maxBytes?: number;
  /** 0 where there are more threads than cores: who spins then keeps the others from running. */
  readonly spins?: number;
}

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

/** An engine that could have played. */
export interface EngineCandidate {
  readonly name: EngineName;
  /** Why it was not taken; absent for the one that was, and for those that were not asked. */
  readonly refused?: string;
}

/** An engine that was found, and how the choice was made. */
export interface EngineResolution {
  readonly engine: Engine;
  readonly candidates: readonly EngineCandidate[];
}
