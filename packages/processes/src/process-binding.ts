import { CollError } from '@coll/core';
import { type Held, type NativeBinding, nativeBinding, type Offering } from '@coll/native/addon';

/** A rank's part of the memory that the processes of a host share. */
export type SegmentHandle = Held<'segment'>;
/** The segments of all ranks, seen from one of them. */
export type MemoryHandle = Held<'memory'>;
export type GroupHandle = Held<'group'>;
export type CallHandle = Held<'call'>;
export type MessagesHandle = Held<'messages'>;

/** Kind, as C++ numbers it, rank because of which, and text. */
export type NativeFailure = readonly [kind: number, rank: number, text: string];

/**
 * Groups of processes, of the addon; where the platform has them. What plays is one thread at a time: the caller of `playCall` and
 * `tryCall`, or the group's own for what was staged and submitted. The group's own never touches memory that JavaScript can take away.
 */
export interface ProcessBinding {
  /** A duplicate of a descriptor, which outlives Node's own. */
  takeSocket(descriptor: number): number;
  /** Closes a duplicate that no group has got. */
  closeSocket(descriptor: number): void;
  /** Memory for others of this host, for `maxBytes` of tensors, and what they have to know to open it. 0: as much as there is. */
  segment(maxBytes: number, ranks: number): readonly [SegmentHandle, info: Uint8Array];
  /** Opens another rank's and leaves the mark of this rank there. @throws Error that says why not */
  openSegment(info: Uint8Array, rank: number): SegmentHandle;
  /** Whether a rank has left its mark. */
  hasMark(segment: SegmentHandle, rank: number): boolean;
  /** Makes room for messages with each of so many ranks, in memory that is used for nothing else. */
  makeRings(segment: SegmentHandle, ranks: number): void;
  /** Lets go of one, which ends when nobody else uses it: neither joined memory nor messages. */
  releaseSegment(segment: SegmentHandle): void;
  /** Joins the segments of all ranks, in rank order. */
  sharedMemory(rank: number, segments: readonly SegmentHandle[]): MemoryHandle;
  /** Memory that lives as long as the result. @throws Error where there is no room, and once it was let go of */
  allocate(memory: MemoryHandle, bytes: number): ArrayBuffer;
  /** Lets go of what was joined: it ends with its last tensor, and the group that plays on it. */
  releaseMemory(memory: MemoryHandle): void;
  /** Takes over the sockets, by rank, and -1. `wake` is called when calls have ended, and when all connections have. */
  group(
    rank: number,
    sockets: Int32Array,
    names: readonly string[],
    silenceMillis: number,
    wake: () => void,
  ): GroupHandle;
  /** From now on all ranks work on the memory of all. */
  playShared(group: GroupHandle, memory: MemoryHandle, localRank: number, localRanks: number, cores: number): void;
  /**
   * By rank: connections for data, which are taken over, or the memory of the lower one of the pair, which has made rings. Neither for one's own.
   */
  playMessages(
    group: GroupHandle,
    sockets: readonly Int32Array[],
    rings: readonly (SegmentHandle | undefined)[],
    generation: number,
    localRank: number,
    localRanks: number,
    cores: number,
    allShareCores: boolean,
  ): void;
  /** Says to the others that this member has opened the group. */
  tellOpened(group: GroupHandle): void;
  /** Who has not said so. */
  unopened(group: GroupHandle): readonly number[];
  /** One rank's part of a program for messages. */
  messageProgram(words: Int32Array, rank: number): MessagesHandle;
  /** As an `offer` of threads, with what is told where ranks disagree; undefined where an output lies in another piece's memory. */
  call(
    ...calling: readonly [...Offering, state: Float64Array, messages: MessagesHandle | undefined]
  ): CallHandle | undefined;
  /** Plays until the call ends, or has expired. 0: never. `waiting` after some time: a thread can be ended in between. */
  playCall(group: GroupHandle, call: CallHandle, timeoutMillis: number): number;
  /** Plays until nothing has come for so long, `waiting`, or for about the time of a slice; the call has to be played on, or submitted, then. */
  tryCall(group: GroupHandle, call: CallHandle, patienceMicros: number, sliceMicros: number): number;
  /** How many bytes are copied, in and out, where the call is staged. */
  copiedBytes(group: GroupHandle, call: CallHandle): number;
  /**
   * Readies a call for the group's thread: copies its inputs, so that JavaScript may take away memory of it meanwhile. False where that has to wait
   * until a call before was finished, because this one takes its result, or is the same. @throws Error where there is no memory; the group has failed then
   */
  stage(group: GroupHandle, call: CallHandle): boolean;
  /** Has a staged call played by the group's thread, after those before it; `results` tells its `id` when it has ended. */
  submit(group: GroupHandle, call: CallHandle, id: number, timeoutMillis: number): void;
  /** Id and status of each call that has ended since it was asked last. */
  results(group: GroupHandle): readonly number[];
  /** Ends the staging of a call; `delivers`: its result is written to its outputs, which have to be there. */
  finish(group: GroupHandle, call: CallHandle, delivers: boolean): void;
  /** Ends the group for all members. */
  failGroup(group: GroupHandle, kind: number, rank: number, text: string): void;
  /** Why the group has ended, the same on all members; waits for what they say. */
  failure(group: GroupHandle): NativeFailure | undefined;
  /** Who has not come to the call that has expired. */
  missing(group: GroupHandle): readonly number[];
  /** Who was not seen to have come to the call under way; members are asked every second. */
  absent(group: GroupHandle): readonly number[];
  /** What each rank asks for, as its descriptor has it, where they disagree. */
  states(group: GroupHandle): readonly (readonly number[] | undefined)[];
  /** Begins to leave; `wake` is called when `hasParted`. */
  leave(group: GroupHandle): void;
  /** Whether all connections have ended since this member began to leave. */
  hasParted(group: GroupHandle): boolean;
  /** Ends its threads and connections. */
  stopGroup(group: GroupHandle): void;
}

/** The number of this interface, which the addon has, too. */
const processInterface = 6;

/** The addon, if it has groups of processes. @throws CollError that says why it has not */
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
