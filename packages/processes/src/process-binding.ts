import { CollError } from '@coll/core';
import { type Held, type NativeBinding, nativeBinding, type Offering, type ThresholdList } from '@coll/native/addon';

/** One rank's segment of the memory that the processes of a host share. */
export type SegmentHandle = Held<'segment'>;
/** The segments of all ranks, opened by one of them. */
export type MemoryHandle = Held<'memory'>;
export type GroupHandle = Held<'group'>;
export type CallHandle = Held<'call'>;
export type MessagesHandle = Held<'messages'>;

/** A `Failure` as a tuple, with its reason as a number. */
export type NativeFailure = readonly [
  reason: number,
  rank: number,
  ranks: readonly number[],
  text: string,
  lost: readonly number[],
];

type Calling = readonly [...Offering, state: Float64Array, messages: MessagesHandle | undefined];

/**
 * The addon's functions for groups of processes, on platforms that support them. Only one thread
 * executes calls at a time: the caller of `executeCall` or `tryCall`, or the group's background
 * thread, which executes calls that were staged and submitted. The background thread never touches
 * memory that JavaScript can transfer.
 */
export interface ProcessBinding {
  /**
   * Duplicates a descriptor, so that the connection stays open after Node.js has closed its own
   * descriptor.
   */
  takeSocket(descriptor: number): number;
  /** Closes a descriptor of `takeSocket` or `listenForData` that no group owns. */
  closeSocket(descriptor: number): void;
  /**
   * Ends this side of connections, and blocks until the other sides have read everything and ended
   * theirs, or `millis` have passed.
   */
  endSockets(descriptors: Int32Array, millis: number): void;
  /**
   * Listens at a free port of `host`, an IP address, for the data connections of a group.
   * @throws Error if that fails
   */
  listenForData(host: string): readonly [descriptor: number, port: number];
  /** The CRC32C of bytes that follow others, whose CRC32C is `crc`; 0 if none precede. */
  crc32c(crc: number, bytes: Uint8Array): number;
  /**
   * The TLS suite that this processor prefers, and the reason if the runtime cannot seal connections,
   * otherwise an empty text.
   */
  sealing(): readonly [cipher: string, problem: string];
  /**
   * Creates memory to share on this host, with room for `maxBytes` of tensors; 0 means as much as
   * the machine has. Other processes pass `info` to `openSegment`.
   */
  segment(maxBytes: number, ranks: number): readonly [SegmentHandle, info: Uint8Array];
  /**
   * Opens another rank's memory, and writes a mark of this rank there, which `hasMark` finds.
   * @throws Error with the reason if that fails
   */
  openSegment(info: Uint8Array, rank: number): SegmentHandle;
  /** Whether `rank` has left its mark in the memory. */
  hasMark(segment: SegmentHandle, rank: number): boolean;
  /**
   * Makes room for messages with `ranks` ranks, in a part of the segment that is used for nothing
   * else.
   */
  makeRings(segment: SegmentHandle, ranks: number): void;
  /** Releases a segment. It is freed once neither joined memory nor messages use it. */
  releaseSegment(segment: SegmentHandle): void;
  /** Joins the segments of all ranks, given in rank order, to one memory. */
  sharedMemory(rank: number, segments: readonly SegmentHandle[]): MemoryHandle;
  /**
   * Allocates tensor memory that lives as long as the returned buffer.
   * @throws Error if there is no room, or the memory was released
   */
  allocate(memory: MemoryHandle, bytes: number): ArrayBuffer;
  /** Releases joined memory. The memory is freed once no tensor and no group uses it any more. */
  releaseMemory(memory: MemoryHandle): void;
  /**
   * Creates a group, which takes over `sockets`: a descriptor for each rank, -1 for none. `seals`:
   * for each rank the identity and the key that seal the connection, 32 bytes each, or nothing.
   * `checksummed`: for each rank, whether the connection is checksummed. `wake` is called when calls
   * have ended, and when all connections have ended.
   */
  group(
    rank: number,
    sockets: Int32Array,
    seals: readonly Uint8Array[],
    checksummed: readonly boolean[],
    silenceMillis: number,
    wake: () => void,
  ): GroupHandle;
  /** Lets all ranks read and write each other's memory directly from now on. */
  useSharedMemory(
    group: GroupHandle,
    memory: MemoryHandle,
    localRank: number,
    localRanks: number,
    cores: number,
    thresholds: ThresholdList,
  ): void;
  /**
   * Lets ranks send messages. All lists have an entry for each rank. The group takes over the
   * listening socket `listener` of `listenForData`. A rank is reached either over connections to
   * its host and port, one for each ticket of 64 bytes, which are made when a call first needs them,
   * and are sealed with the second half of the ticket if `sealed` is true, or checksummed if
   * `checksummed` is true; or through the segment of the lower rank of the pair, for which
   * `makeRings` was called. A call fails if the connections with a rank are not made within
   * `connectMillis`; 0 means no limit.
   */
  useMessages(
    group: GroupHandle,
    listener: number,
    hosts: readonly string[],
    ports: Int32Array,
    tickets: readonly Uint8Array[],
    sealed: readonly boolean[],
    checksummed: readonly boolean[],
    connectMillis: number,
    rings: readonly (SegmentHandle | undefined)[],
    generation: number,
    localRank: number,
    localRanks: number,
    cores: number,
    allShareCores: boolean,
  ): void;
  /** Notifies the other members that this one has opened the group. */
  tellOpened(group: GroupHandle): void;
  /** The ranks that have not opened the group yet. */
  unopened(group: GroupHandle): readonly number[];
  /** The ranks that have left the group. */
  left(group: GroupHandle): readonly number[];
  /** Lets failures name ranks of an enclosing group of `ranks` ranks. */
  enclose(group: GroupHandle, ranks: number): void;
  /** Compiles one rank's sends and receives of a schedule, encoded by `messageWords`. */
  messageProgram(words: Int32Array, rank: number): MessagesHandle;
  /**
   * Creates a call from the arguments that threads pass to `offer`, and `state`: the request of
   * this rank, which is reported if ranks disagree. Returns undefined if an output overlaps another
   * input or output.
   */
  call(...calling: Calling): CallHandle | undefined;
  /**
   * Like `call`, but reuses the handle of a call that has ended. Returns false if an output
   * overlaps another input or output.
   */
  refillCall(handle: CallHandle, ...calling: Calling): boolean;
  /**
   * Executes a call until it ends or times out; 0 means no limit. Returns `waiting` from time to
   * time, so that a thread can be terminated in between.
   */
  executeCall(group: GroupHandle, call: CallHandle, timeoutMillis: number): number;
  /**
   * Executes a call for about `sliceMicros`, or until it makes no progress for `patienceMicros`
   * (result `waiting`). The call must then be continued or submitted.
   */
  tryCall(group: GroupHandle, call: CallHandle, patienceMicros: number, sliceMicros: number): number;
  /** Number of input and output bytes copied if the call is staged. */
  copiedBytes(group: GroupHandle, call: CallHandle): number;
  /**
   * Prepares a call for the group's background thread by copying its inputs, so that JavaScript may
   * transfer their memory. Returns false if an earlier staged call must be finished first: a call
   * with the same handle, or one whose result is an input of this call.
   * @throws Error if memory is exhausted, after which the group has failed
   */
  stage(group: GroupHandle, call: CallHandle): boolean;
  /**
   * Lets the group's background thread execute a call that `stage` has prepared. When the call has
   * ended, `results()` reports its `id`.
   */
  submit(group: GroupHandle, call: CallHandle, id: number, timeoutMillis: number): void;
  /** Id and status of each call that has ended since the last query. */
  results(group: GroupHandle): readonly number[];
  /**
   * Ends the staging of a call. If `delivers` is true, writes the result to the call's outputs;
   * JavaScript must then not have transferred their memory.
   */
  finish(group: GroupHandle, call: CallHandle, delivers: boolean): void;
  /** Ends the group for all members with this failure. */
  failGroup(group: GroupHandle, reason: number, rank: number, ranks: Int32Array, text: string): void;
  /**
   * The group's failure, the same on all members; undefined if there is none. Blocks until the
   * other members have reported.
   */
  failure(group: GroupHandle): NativeFailure | undefined;
  /** Ranks that did not arrive in the call that has timed out. */
  missing(group: GroupHandle): readonly number[];
  /**
   * The ranks that are not known to have arrived at the current call. Members report their state
   * once a second.
   */
  absent(group: GroupHandle): readonly number[];
  /** Milliseconds since the event loop of each rank has turned; undefined for ranks that have not answered. */
  quietMillis(group: GroupHandle): readonly (number | undefined)[];
  /**
   * Records that the event loop of this rank turns. Returns the ranks that were silent for at least half
   * of the time after which they are lost, and were heard again since the last turn: each rank, and its
   * silence in milliseconds. Undefined if there are none.
   */
  noteTurn(group: GroupHandle): readonly number[] | undefined;
  /**
   * The request of each rank, in the form of a descriptor, for the call about which the ranks
   * disagree.
   */
  states(group: GroupHandle): readonly (readonly number[] | undefined)[];
  /**
   * Leaves the group after `delayMillis`, or at once if the group has failed; `wake` is called once
   * `hasParted` is true. Until then, `failGroup` still reaches the other members. Only a departure
   * without delay keeps the event loop alive.
   */
  leave(group: GroupHandle, delayMillis: number): void;
  /** Whether all connections have ended since this member began to leave. */
  hasParted(group: GroupHandle): boolean;
  /** Ends the group's threads and connections. */
  stopGroup(group: GroupHandle): void;
}

/** Version of this interface; must equal that of the addon. */
const processInterface = 19;

/**
 * Returns the addon.
 * @throws CollError with the reason if it, or the runtime, does not support groups of processes
 */
export function processBinding(): NativeBinding & { readonly processes: ProcessBinding } {
  const { deno } = process.versions as { readonly deno?: string };
  if (deno !== undefined) {
    const message = `Deno ${deno} does not expose the descriptors of its sockets, over which the native engine connects processes`;
    throw new CollError('ERR_COLL_NO_ENGINE', `${message}: run this program in Node or Bun`, { operation });
  }
  const found = nativeBinding();
  if (found.interface !== processInterface) {
    const message = `@coll/native has interface version ${found.interface}, but @coll/processes needs version ${processInterface}`;
    throw new CollError('ERR_COLL_NO_ENGINE', `${message}: install the same version of both`, { operation });
  }
  if (found.processes) return found as NativeBinding & { readonly processes: ProcessBinding };
  const message = `groups of processes work on Linux only so far, not on ${process.platform}`;
  throw new CollError('ERR_COLL_NO_ENGINE', message, { operation });
}

const operation = 'open a group';
