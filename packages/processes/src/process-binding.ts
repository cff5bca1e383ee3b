import { CollError } from '@coll/core';
import { type Held, type NativeBinding, nativeBinding, type Offering } from '@coll/native/addon';

/** A rank's part of the memory that the processes of a host share. */
export type SegmentHandle = Held<'segment'>;
/** The segments of all ranks, seen from one of them. */
export type MemoryHandle = Held<'memory'>;
export type GroupHandle = Held<'group'>;
export type CallHandle = Held<'call'>;
export type MessagesHandle = Held<'messages'>;

/** A `Failure`, with the number of its reason. */
export type NativeFailure = readonly [reason: number, rank: number, ranks: readonly number[], text: string];

/**
 * The addon's groups of processes, on platforms that support them. One thread at a time executes:
 * the caller of `executeCall` and `tryCall`, or the group's own thread for staged and submitted calls.
 * The group's thread never touches memory that JavaScript can transfer.
 */
export interface ProcessBinding {
  /** Duplicates a descriptor, so that it outlives Node.js's own. */
  takeSocket(descriptor: number): number;
  /** Closes a duplicate that no group owns. */
  closeSocket(descriptor: number): void;
  /**
   * Creates memory to share on this host, for `maxBytes` of tensors, and the info needed to open
   * it. 0 means as much as there is.
   */
  segment(maxBytes: number, ranks: number): readonly [SegmentHandle, info: Uint8Array];
  /** Opens another rank's memory and leaves this rank's mark there. @throws Error that says why not */
  openSegment(info: Uint8Array, rank: number): SegmentHandle;
  /** Whether a rank has left its mark. */
  hasMark(segment: SegmentHandle, rank: number): boolean;
  /** Makes room for messages with each of `ranks` ranks, in memory used for nothing else. */
  makeRings(segment: SegmentHandle, ranks: number): void;
  /** Releases a segment. It is freed once neither joined memory nor messages use it. */
  releaseSegment(segment: SegmentHandle): void;
  /** Joins the segments of all ranks, in rank order. */
  sharedMemory(rank: number, segments: readonly SegmentHandle[]): MemoryHandle;
  /** Memory that lives as long as the result. @throws Error if there is no room, or the memory was released */
  allocate(memory: MemoryHandle, bytes: number): ArrayBuffer;
  /** Releases joined memory. It is freed with its last tensor and the group that uses it. */
  releaseMemory(memory: MemoryHandle): void;
  /**
   * Takes over the sockets, by rank, -1 for none. `wake` is called when calls have ended, and when
   * all connections have ended.
   */
  group(rank: number, sockets: Int32Array, silenceMillis: number, wake: () => void): GroupHandle;
  /** From now on all ranks work directly on the memory of all. */
  useSharedMemory(group: GroupHandle, memory: MemoryHandle, localRank: number, localRanks: number, cores: number): void;
  /**
   * By rank: data connections, which are taken over, or the segment of the pair's lower rank, which
   * has made rings. Neither for this rank.
   */
  useMessages(
    group: GroupHandle,
    sockets: readonly Int32Array[],
    rings: readonly (SegmentHandle | undefined)[],
    generation: number,
    localRank: number,
    localRanks: number,
    cores: number,
    allShareCores: boolean,
  ): void;
  /** Notifies the other members that this one has opened the group. */
  tellOpened(group: GroupHandle): void;
  /** The ranks that have not done so. */
  unopened(group: GroupHandle): readonly number[];
  /** One rank's part of a message program. */
  messageProgram(words: Int32Array, rank: number): MessagesHandle;
  /**
   * Like an `offer` of threads, plus what is reported if ranks disagree. Undefined if an output
   * overlaps another piece's memory.
   */
  call(
    ...calling: readonly [...Offering, state: Float64Array, messages: MessagesHandle | undefined]
  ): CallHandle | undefined;
  /**
   * Executes until the call ends or times out; 0 means no limit. Returns `waiting` from time to
   * time, so that a thread can be terminated in between.
   */
  executeCall(group: GroupHandle, call: CallHandle, timeoutMillis: number): number;
  /**
   * Executes until there is no progress for `patienceMicros` (`waiting`), or for about
   * `sliceMicros`. The call must then be continued or submitted.
   */
  tryCall(group: GroupHandle, call: CallHandle, patienceMicros: number, sliceMicros: number): number;
  /** Number of input and output bytes copied if the call is staged. */
  copiedBytes(group: GroupHandle, call: CallHandle): number;
  /**
   * Prepares a call for the group's thread: copies its inputs, so that JavaScript may transfer
   * their memory meanwhile. False if an earlier call must be finished first, because this call uses
   * its result or is the same.
   * @throws Error if memory is exhausted; the group has failed then
   */
  stage(group: GroupHandle, call: CallHandle): boolean;
  /**
   * Lets the group's thread execute a staged call after earlier ones; `results` reports its `id`
   * when it has ended.
   */
  submit(group: GroupHandle, call: CallHandle, id: number, timeoutMillis: number): void;
  /** Id and status of each call that has ended since the last query. */
  results(group: GroupHandle): readonly number[];
  /** Ends the staging of a call. `delivers`: writes the result to its outputs, which must be intact. */
  finish(group: GroupHandle, call: CallHandle, delivers: boolean): void;
  /** Ends the group for all members. */
  failGroup(group: GroupHandle, reason: number, rank: number, ranks: Int32Array, text: string): void;
  /** The group's failure, the same on all members; waits for their reports. Undefined while there is none. */
  failure(group: GroupHandle): NativeFailure | undefined;
  /** Ranks that did not arrive in the call that has timed out. */
  missing(group: GroupHandle): readonly number[];
  /** Ranks not seen in the current call; members are asked every second. */
  absent(group: GroupHandle): readonly number[];
  /** The requests of all ranks, as in their descriptors, if they disagree. */
  states(group: GroupHandle): readonly (readonly number[] | undefined)[];
  /** Begins to leave; `wake` is called when `hasParted`. */
  leave(group: GroupHandle): void;
  /** Whether all connections have ended since this member began to leave. */
  hasParted(group: GroupHandle): boolean;
  /** Ends the group's threads and connections. */
  stopGroup(group: GroupHandle): void;
}

/** Version of this interface; must equal that of the addon. */
const processInterface = 7;

/** The addon, if it supports groups of processes. @throws CollError that says why it does not */
export function processBinding(): NativeBinding & { readonly processes: ProcessBinding } {
  const found = nativeBinding();
  if (found.interface !== processInterface) {
    const told = `@coll/native has interface ${found.interface}, @coll/processes needs ${processInterface}`;
    throw new CollError('ERR_COLL_NO_ENGINE', `${told}: install the same version of both`, { operation });
  }
  if (found.processes) return found as NativeBinding & { readonly processes: ProcessBinding };
  const told = `groups of processes work on Linux only so far, not on ${process.platform}`;
  throw new CollError('ERR_COLL_NO_ENGINE', told, { operation });
}

const operation = 'open a group';
