import type { Algorithm } from '../schedule/schedule.js';
import type { ArenaMemory } from './arena.js';
import type { Communicator } from './communicator.js';

/** The name of an engine, which executes schedules in C++ threads, WebAssembly or plain JavaScript. */
export type EngineName = 'native' | 'wasm' | 'js';

/** An engine name, or `'auto'`: the fastest one available. */
export type EngineRequest = 'auto' | EngineName;

/** Whether an engine or plug-in can be used here and, if not, the reason. */
export type ProbeResult =
  | { readonly available: true }
  | {
      readonly available: false;
      readonly reason: string;
      /**
       * For an engine that should work on this platform: what to do about the reason. Then `'auto'`
       * warns before it takes a slower engine.
       */
      readonly advice?: string | undefined;
    };

/**
 * State shared by the threads of a group. It can be posted to each thread, which then joins with
 * its rank.
 */
export interface ThreadGroup {
  /** The engine of this group; every member joins with the same one. */
  readonly engine: EngineName;
  /** Identifies this group; no other group has the same id. */
  readonly id: string;
  readonly size: number;
  /** How often a waiting thread polls a peer's counter before it sleeps. */
  readonly spins: number;
  /**
   * The thread that created the group, as `threadId` of Node.js. As long as that thread returns to
   * its event loop, it fails the group if the thread of a member ends. Undefined on platforms that
   * cannot watch threads: browsers, and other runtimes without `postMessageToThread`.
   */
  readonly creator?: number | undefined;
  /** If the group was made by `split`: the rank of each of its members in the whole group. */
  readonly whole?: readonly number[] | undefined;
  /** If the group was made by `split`: the id of the group that was split. */
  readonly parent?: string | undefined;
  readonly control: SharedArrayBuffer;
  readonly descriptors: SharedArrayBuffer;
  readonly arena: ArenaMemory;
  /** Additional state of the native engine. */
  readonly board?: SharedArrayBuffer;
  /** Sizes from which the native engine works in another way, the same in all threads. */
  readonly thresholds?: readonly number[];
}

/** Size and memory limit of a group of threads. */
export interface ThreadGroupOptions {
  /** Ranks in the group, each in a thread of its own. */
  readonly size: number;
  /**
   * Upper bound of the group's shared memory, in bytes. Default and maximum: 2 GiB of address
   * space; only used pages are committed.
   */
  readonly maxBytes?: number;
  /**
   * How often a waiting thread polls before it sleeps. Threads of the engines `wasm` and `js` learn
   * to sleep at once while polling is in vain, above all if threads outnumber cores. Default: 20,000.
   */
  readonly spins?: number;
}

/** The rank that joins a group, and the algorithm the group runs. */
export interface JoinRequest {
  readonly rank: number;
  readonly algorithm: Algorithm;
}

/**
 * Creates communicators that run an algorithm between ranks of one process. All engines give
 * bitwise equal results.
 */
export interface Engine {
  readonly name: EngineName;
  /** The SIMD instructions that the engine uses. Undefined if it does not report them. */
  readonly simd?: string | undefined;
  /** Whether the engine works here: its binary exists and the platform supports it. */
  probe(): ProbeResult;
  /** A communicator for a single controller, which passes the buffers of all ranks. */
  communicator(size: number, algorithm: Algorithm): Communicator;
  /** Creates the shared state of a group of threads, to be posted to the threads, which then join the group. */
  createGroup(options: ThreadGroupOptions): ThreadGroup;
  /** Joins one rank of a group whose other ranks live in other threads. */
  join(group: ThreadGroup, request: JoinRequest): Communicator;
}

/** An engine considered for a request. */
export interface EngineCandidate {
  readonly name: EngineName;
  /** Why the engine was not chosen; undefined for the chosen engine and for engines not probed. */
  readonly refused?: string;
}

/** The chosen engine, and how it was chosen. */
export interface EngineResolution {
  readonly engine: Engine;
  readonly candidates: readonly EngineCandidate[];
}
