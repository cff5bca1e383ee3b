/** The interface version of the addon; an addon with another version is refused. */
export const mpiInterface = 5;

/** A group in the addon. */
export interface GroupHandle {
  readonly group: unique symbol;
}

/** A prepared call in the addon. */
export interface PlanHandle {
  readonly plan: unique symbol;
}

/** The statuses of a call. */
export const status = { done: 0, failed: 1, disagreed: 2, pending: 3 } as const;

/** The MPI library; the fields from `rank` on are known once MPI has been started. */
export interface Facts {
  /** The binary interface: `Open MPI`, `MPICH` or `MPI 5.0`. */
  readonly abi: string;
  /** The first line of the library's own version text. */
  readonly version: string;
  readonly path: string;
  /** Why this library was chosen, as a phrase. */
  readonly how: string;
  readonly rank: number;
  readonly size: number;
  /** Number of ranks on this host. */
  readonly localRanks: number;
  /** The name of each rank's host. */
  readonly hosts: readonly string[];
}

/** The fields of `Failure` of @coll/core; the reason is an index of `failureReasons`. */
export type NativeFailure = readonly [reason: number, rank: number, ranks: readonly number[], text: string];

/** An error of the addon. `code` is MPI's, 0 if MPI reported none. */
export interface BindingError extends Error {
  readonly kind: 'invalid-argument' | 'no-library' | 'mpi' | 'busy';
  readonly code: number;
}

/** The exports of the addon. */
export interface MpiBinding {
  readonly interface: number;
  /** Opens the library at `path`, or the first in the order of the search; once per process. */
  load(path: string): Facts;
  /** Starts MPI, once per process. */
  start(): Promise<Facts>;
  /** Makes a group of all ranks. `wake` is called for events and ended calls. */
  openGroup(wake: () => void): Promise<GroupHandle>;
  /** Makes a group of the ranks with the same color; undefined for a negative one. */
  splitGroup(group: GroupHandle, color: number, key: number, wake: () => void): Promise<GroupHandle | undefined>;
  place(group: GroupHandle): readonly [rank: number, size: number];
  /** `kind`, `op` and `dtype` are indices of the lists of @coll/core; `count`: elements per rank. */
  plan(
    kind: number,
    op: number,
    dtype: number,
    root: number,
    count: number,
    isWide: boolean,
    name: string,
    announcement: Float64Array,
    inputs: readonly ArrayBufferView[],
    outputs: readonly ArrayBufferView[],
  ): PlanHandle;
  /**
   * Begins a call, and moves it on in this thread for at most `patienceMicros`. If it is then
   * pending, another thread moves it on, and `wake` is called when it has ended.
   */
  run(group: GroupHandle, plan: PlanHandle, millis: number, isChecked: boolean, patienceMicros: number): number;
  /** Makes a call in this thread. If it is pending after a while, `wait` continues it. */
  runSync(group: GroupHandle, plan: PlanHandle, millis: number, isChecked: boolean): number;
  wait(group: GroupHandle): number;
  /** The status of the latest call. */
  status(group: GroupHandle): number;
  failure(group: GroupHandle): NativeFailure | undefined;
  /** Ends the group, unless it has failed already. `tells`: whether the other members are notified. */
  fail(group: GroupHandle, reason: number, rank: number, ranks: readonly number[], text: string, tells: boolean): void;
  /** The descriptors that all ranks announced for a call that has ended as disagreed, one after the other. */
  announcements(group: GroupHandle): Float64Array;
  /** Whether MPI may still use the memory of a call that has failed. */
  keepsMemory(group: GroupHandle): boolean;
  /** Sends bytes to a rank, which gets them as an event. They are copied. */
  post(group: GroupHandle, rank: number, head: Uint8Array, data: Uint8Array | undefined): void;
  /** The events since the last call: bytes from a rank, or undefined if the rank has left. */
  events(group: GroupHandle): readonly (readonly [rank: number, bytes: ArrayBuffer | undefined])[];
  /** Sets whether the program waits for events, so that they are looked for often. */
  listen(group: GroupHandle, isListening: boolean): void;
  /** Keeps this thread alive until every hold of the group has been released. */
  hold(group: GroupHandle, isHeld: boolean): void;
  leave(group: GroupHandle): void;
  /**
   * Leaves all groups and ends MPI, which waits for the other ranks, at most so many seconds; 0
   * means no limit. Returns whether MPI has ended.
   */
  finalize(seconds: number): boolean;
  /** Ends the whole job with this exit code once this process has printed its error. */
  abortAtExit(code: number): void;
}
