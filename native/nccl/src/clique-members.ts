import type { PeerBoard } from './peer-board.js';

/** A communicator of NCCL's: its ranks in this process, and what is known of the others. */
export interface CliqueMembers {
  readonly size: number;
  readonly ranks: readonly number[];
  /** The GPU of each of these ranks. */
  readonly devices: readonly number[];
  /** For errors, and the logs of NCCL. */
  readonly name: string;
  /** How the ranks of other processes are told of a failure; absent where all ranks are here. */
  readonly board?: PeerBoard | undefined;
  /** How long a process may be silent while others wait for it. Default: 60. */
  readonly lostAfterSeconds?: number | undefined;
  /** Compare what the processes ask for before each call. Default: no. */
  readonly checkCalls?: boolean | undefined;
}

/** How it is opened. */
export interface CliqueOpening extends CliqueMembers {
  /** Whether NCCL keeps a native thread until a call is done. Default: where all ranks are here, so that nobody can be lost. */
  readonly blocking?: boolean | undefined;
  /** Longest time to wait for the other ranks. */
  readonly timeoutMillis: number;
  /** Ends the waiting for them. */
  readonly signal?: AbortSignal | undefined;
}

/** One of each for each local rank; a color below 0 takes no part. */
export interface SplitRequest {
  readonly colors: readonly number[];
  readonly keys: readonly number[];
  /** The parts use the resources of the whole. */
  readonly isSharing: boolean;
  readonly timeoutMillis: number;
}
