import type { PeerBoard } from './peer-board.js';

/** An NCCL communicator's ranks in this process, and the way to reach the other processes. */
export interface CliqueMembers {
  readonly size: number;
  readonly ranks: readonly number[];
  /** The GPU of each local rank. */
  readonly devices: readonly number[];
  /** Name of the group in error messages and in NCCL's logs. */
  readonly name: string;
  /** The group in records: equal on all its processes, and on no other group. */
  readonly recordId: string;
  /** The group that was split, in records. */
  readonly parentId?: string | undefined;
  /**
   * Exchanges failures and requests with the other processes; undefined if all ranks are in this
   * process.
   */
  readonly board?: PeerBoard | undefined;
  /**
   * Seconds without a heartbeat after which a process that others wait for counts as lost. Default:
   * 60.
   */
  readonly lostAfterSeconds?: number | undefined;
  /**
   * Whether all processes compare their requests before each call. If the requests differ, the call
   * fails. Default: false.
   */
  readonly checkCalls?: boolean | undefined;
}

/** The members of a group of ranks, and how to open the group. */
export interface CliqueOpening extends Omit<CliqueMembers, 'recordId'> {
  /**
   * Whether an NCCL call blocks its native thread until it is done. Default: true if all ranks are
   * in this process, because then no rank can be lost.
   */
  readonly blocking?: boolean | undefined;
  /** Longest time to wait for the other ranks. */
  readonly timeoutMillis: number;
  /** Aborts the wait for the other ranks. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A color and a key per local rank. Ranks of the same color form a group, ordered by key; a rank
 * with a negative color joins no group.
 */
export interface SplitRequest {
  readonly colors: readonly number[];
  readonly keys: readonly number[];
  /** Whether the new groups use the resources of the original communicator. */
  readonly isSharing: boolean;
  readonly timeoutMillis: number;
}
