import { type CollError, InternalError, type RunOptions } from '@coll/core';
import {
  type Failure,
  failureError,
  failureOf,
  failureReasons,
  log,
  mostOtherRanks,
  nameIn,
  quietText,
  recorder,
  SlowCallLog,
  type StallListener,
  withoutStack,
} from '@coll/core/internal';
import { abortedError, busyError, closedError, operationOf, type PreparedCall } from '@coll/core/plugin';
import { listOf, status, type Thresholds } from '@coll/native/addon';
import { leastMillis } from './call-timing.js';
import type { DataConnections } from './data-listener.js';
import type { LocalRank } from './local-rank.js';
import type {
  CallHandle,
  GroupHandle,
  MemoryHandle,
  NativeFailure,
  ProcessBinding,
  SegmentHandle,
} from './process-binding.js';
import type { ProcessCall } from './process-calls.js';
import { disagreementOf, failureFrom } from './process-failures.js';
import { millisOf, ProcessQueue } from './process-queue.js';
import type { SocketSeal } from './sealed-socket.js';

/** A member of a group of processes, and its connections. */
export interface NativeGroupOptions {
  readonly rank: number;
  /**
   * Descriptors of the connections over which members watch each other, by rank; -1 for this rank.
   */
  readonly sockets: readonly number[];
  /** What seals these connections, by rank; undefined for one that is not sealed. */
  readonly seals: readonly (SocketSeal | undefined)[];
  /** Whether these connections are checksummed, by rank. */
  readonly checksummed: readonly boolean[];
  /** Names of the hosts of all ranks. */
  readonly hosts: readonly string[];
  /** If the group was made by `split`: the rank of each member in the whole group. */
  readonly whole?: readonly number[] | undefined;
  readonly heartbeatSeconds: number;
  /** Receives reports of stalled calls. */
  readonly stalls?: StallListener | undefined;
}

/**
 * How a member exchanges messages with the other ranks: over connections, or through the memory of
 * the lower rank of each pair.
 */
export interface MessageOptions {
  readonly data: DataConnections;
  readonly rings: readonly (SegmentHandle | undefined)[];
  readonly generation: number;
  readonly local: LocalRank;
  /**
   * Whether all members run on one host that has fewer cores than members; equal on all members.
   */
  readonly allShareCores: boolean;
}

type Call = PreparedCall<ProcessCall>;

/**
 * Executes the calls of one member of a group of processes, in order across all its communicators.
 */
export class NativeProcessGroup {
  readonly rank: number;
  readonly size: number;
  readonly #binding: ProcessBinding;
  // Cached, because a binding with this many functions needs a table look-up per call.
  readonly #executeCall: ProcessBinding['executeCall'];
  readonly #handle: GroupHandle;
  readonly #hosts: readonly string[];
  readonly #whole: readonly number[] | undefined;
  readonly #queue: ProcessQueue;
  /** Receives reports of stalled calls. */
  readonly stalls: StallListener | undefined;
  readonly #turns: NodeJS.Timeout;
  #calls = 0;
  #isClosed = false;
  #isStopped = false;
  #parted: (() => void) | undefined;

  constructor(binding: ProcessBinding, options: NativeGroupOptions) {
    const { rank, sockets, seals, checksummed, hosts, whole, heartbeatSeconds, stalls } = options;
    this.rank = rank;
    this.size = sockets.length;
    this.#binding = binding;
    this.#executeCall = binding.executeCall;
    this.#hosts = hosts;
    this.#whole = whole;
    this.stalls = stalls;
    const wake = () => this.#settle();
    const bytes = seals.map((seal) => Uint8Array.from(seal ? [...seal.identity, ...seal.key] : []));
    this.#handle = binding.group(rank, Int32Array.from(sockets), bytes, checksummed, heartbeatSeconds * 1000, wake);
    const slowCalls = new SlowCallLog(whole?.[rank] ?? rank);
    this.#turns = setInterval(() => this.#noteTurn(), turnMillis).unref();
    this.#queue = new ProcessQueue(binding, this.#handle, {
      rank,
      stalls,
      fail: (reason, text) => this.fail(reason, text),
      missing: () => {
        const missing = this.#binding.absent(this.#handle);
        return { missing, quietSeconds: this.#quietSeconds(missing) };
      },
      end: (answer, call) => this.#end(answer, call),
      failureOf: (call, number, signal) => this.#failureOf(call, number, signal),
      slow: (...call) => slowCalls.add(...call),
      hasFailed: () => this.#isClosed || this.#binding.failure(this.#handle) !== undefined,
    });
  }

  /** Whether this member has left the group. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Lets all members read and write each other's memory directly. `thresholds` are the same on all
   * members.
   */
  useSharedMemory(memory: MemoryHandle, { number, ranks, cores }: LocalRank, thresholds: Thresholds): void {
    this.#binding.useSharedMemory(this.#handle, memory, number, ranks, cores, listOf(thresholds));
  }

  /** Lets members exchange data by messages. */
  useMessages({ data, rings, generation, local, allShareCores }: MessageOptions): void {
    const { listener, hosts, tickets, sealed, checksummed, connectMillis } = data;
    const ports = Int32Array.from(data.ports);
    const connecting = [listener, hosts, ports, tickets, sealed, checksummed, connectMillis] as const;
    const { number, ranks, cores } = local;
    this.#binding.useMessages(this.#handle, ...connecting, rings, generation, number, ranks, cores, allShareCores);
  }

  /** Notifies the other members that this one has opened the group. */
  tellOpened(): void {
    this.#binding.tellOpened(this.#handle);
  }

  /** Lets failures name ranks of an enclosing group of `ranks` ranks. */
  enclose(ranks: number): void {
    if (!this.#isClosed) this.#binding.enclose(this.#handle, ranks);
  }

  /** The members that have left the group. */
  get leavers(): readonly number[] {
    return this.#isClosed ? [] : this.#binding.left(this.#handle);
  }

  /** The members that have not opened the group yet. */
  get unopened(): readonly number[] {
    return this.#binding.unopened(this.#handle);
  }

  /** Executes a call, blocking the calling thread. */
  executeSync(call: Call, options: RunOptions): void {
    this.#requireOpen(call);
    if (!this.#queue.isEmpty) throw busyError(this.#detailsOf(call));
    this.#calls++;
    const { handle } = call.handle;
    const millis = millisOf(options);
    let answer = this.stalls ? this.#executeWatched(call, millis, this.stalls) : this.#executeToEnd(handle, millis);
    if (answer === status.done) return;
    if (answer !== status.failed) {
      this.#end(answer, call);
      answer = this.#executeToEnd(handle, 0);
    }
    throw this.#failureOf(call, this.#calls - 1);
  }

  /**
   * Begins a call, or queues it behind earlier ones.
   * @returns undefined if the call has already ended
   */
  execute(call: Call, options: RunOptions): Promise<void> | undefined {
    this.#requireOpen(call);
    return this.#queue.add(call, this.#calls++, options);
  }

  /**
   * Ends the group for all members, and reports this member as the cause. For `text` and `ranks`,
   * see `Failure`.
   */
  fail(reason: Failure['reason'], text: string, ranks: readonly number[] = []): void {
    this.#fail({ reason, rank: this.rank, ranks, text });
  }

  /**
   * Ends the group for all members with an error that occurred outside of the group's calls.
   * Members throw an error of the same class, code and `rank`.
   */
  failWith(error: CollError): void {
    this.#fail(failureOf(error, this.rank));
  }

  /**
   * The error with which the group has failed, for the first pending call or, if there is none, for
   * `operation`; undefined if the group has not failed.
   */
  failure(operation = 'group'): CollError | undefined {
    const failure = this.#isClosed ? undefined : this.#binding.failure(this.#handle);
    const first = this.#queue.first;
    return failure && this.#errorOf(failure, first?.operation ?? operation, first?.number);
  }

  /**
   * Closes the group: calls fail from now on. The other members learn of it at once or, if `delayMillis` is above
   * 0, so much later than the promise `after` while the event loop turns, within five seconds at the latest. The
   * returned promise is fulfilled when the connections with them have ended.
   */
  async close(delayMillis = 0, after: Promise<unknown> = Promise.resolve()): Promise<void> {
    if (this.#isClosed) return;
    if (!this.#queue.isEmpty) this.fail('closed', 'has left the group');
    this.#isClosed = true;
    const parted = new Promise<void>((resolve) => {
      this.#parted = resolve;
    });
    const leave = (millis: number) => this.#isStopped || this.#binding.leave(this.#handle, millis);
    leave(delayMillis > 0 ? mostDelayMillis : 0);
    const leaveSoon = () => {
      setTimeout(() => leave(0), delayMillis).unref();
    };
    // Whoever has made `after` handles its error.
    if (delayMillis > 0) void after.then(leaveSoon, leaveSoon);
    await parted;
    this.#stop();
    this.#queue.close();
  }

  /**
   * Begins to leave the group at once because the process ends, also if `close` has begun to leave
   * it. `failure` completes the sentence about this member; undefined if the process ends well.
   */
  exit(failure: string | undefined): void {
    if (this.#isStopped) return;
    if (failure !== undefined) this.#report({ reason: 'failed', rank: this.rank, ranks: [], text: failure });
    else if (!this.#queue.isEmpty) this.fail('closed', 'has left the group');
    this.#isClosed = true;
    this.#binding.leave(this.#handle, 0);
  }

  /** Blocks until the group has been left after `exit`. */
  waitForExit(): void {
    if (this.#isStopped) return;
    const until = performance.now() + longestExitMillis;
    while (!this.#binding.hasParted(this.#handle) && performance.now() < until) pauseThread();
    this.#stop();
  }

  #noteTurn(): void {
    const silences = this.#binding.noteTurn(this.#handle) ?? [];
    for (let at = 0; at < silences.length; at += 2) {
      const rank = silences[at] as number;
      const seconds = (silences[at + 1] as number) / 1000;
      const whose = `rank ${nameIn(this.#whole, rank)} on ${this.#hosts[rank]}`;
      const text = `received nothing from ${whose} for ${seconds.toFixed(1)} seconds; it is heard again`;
      recorder?.note({ kind: 'silence', text, rank });
      log('info', text);
    }
  }

  #stop(): void {
    clearInterval(this.#turns);
    this.#isStopped = true;
    this.#binding.stopGroup(this.#handle);
  }

  #settle(): void {
    if (!this.#isClosed || this.#parted) this.#queue.settle();
    if (this.#parted && this.#binding.hasParted(this.#handle)) this.#parted();
  }

  /**
   * Ends the group with the error that corresponds to `answer`, the status that native code
   * returned for `call`.
   */
  #end(answer: number, call: Call): void {
    if (answer === status.disagreed) {
      this.failWith(disagreementOf(this.#binding.states(this.#handle), call.request?.ranks ?? this.#names));
      return;
    }
    const operation = operationOf(call);
    const missing = this.#binding.missing(this.#handle);
    const others = [...this.#hosts.keys()].filter((rank) => rank !== this.rank);
    const quiet = quietText(missing, this.#quietSeconds(missing) ?? []);
    if (missing.length > 0) this.fail('deadline', `did not arrive at ${operation}${quiet}`, missing);
    else this.fail('deadline', `called ${operation}, but did not finish it`, others);
  }

  /** Seconds since the event loops of these ranks have turned; undefined if one of them has not answered. */
  #quietSeconds(ranks: readonly number[]): readonly number[] | undefined {
    const millis = this.#binding.quietMillis(this.#handle);
    const quiet = ranks.map((rank) => millis[rank]);
    return quiet.every((each) => each !== undefined) ? quiet.map((each) => each / 1000) : undefined;
  }

  #failureOf(call: Call, number: number, signal?: AbortSignal): CollError {
    const operation = operationOf(call);
    const failure = this.#binding.failure(this.#handle);
    if (!failure)
      return new InternalError(
        'ERR_COLL_INTERNAL',
        `${operation}: the engine failed without stating a reason, which is a bug of the engine`,
      );
    const error = this.#errorOf(failure, operation, number);
    if (error.code !== 'ERR_COLL_ABORTED' || !signal?.aborted) return error;
    return abortedError('while it was under way', signal, this.#detailsOf(call));
  }

  /** Executes a call until it ends or times out. */
  #executeToEnd(handle: CallHandle, millis: number): number {
    const until = millis > 0 ? performance.now() + millis : undefined;
    for (;;) {
      const answer = this.#executePart(handle, until);
      if (answer !== status.waiting) return answer;
    }
  }

  // V8 terminates a thread only where a JavaScript function begins, so each part is a separate
  // function call.
  #executePart(handle: CallHandle, until: number | undefined): number {
    const left = until === undefined ? 0 : Math.max(until - performance.now(), leastMillis);
    return this.#executeCall(this.#handle, handle, left);
  }

  /** Like `#executeToEnd`, but reports a long wait, and when the call continues. */
  #executeWatched(call: Call, millis: number, stalls: StallListener): number {
    const { handle } = call.handle;
    const stallMillis = stalls.seconds * 1000;
    const slice = millis > 0 ? Math.min(millis, stallMillis) : stallMillis;
    // Most calls end here, without a look at the clock.
    let answer = this.#executeCall(this.#handle, handle, slice);
    if (answer !== status.waiting && answer !== status.expired) return answer;
    const begun = performance.now() - (answer === status.expired ? slice : 0);
    const until = millis > 0 ? begun + millis : Infinity;
    const source = {};
    let isReported = false;
    for (let next = begun + stallMillis; answer === status.waiting || answer === status.expired; ) {
      if (answer === status.expired) {
        if (until <= next) break;
        const seconds = (performance.now() - begun) / 1000;
        const missing = this.#binding.missing(this.#handle);
        const quietSeconds = this.#quietSeconds(missing);
        stalls.tell(source, {
          operation: operationOf(call),
          sequence: this.#calls - 1,
          missing,
          quietSeconds,
          seconds,
        });
        isReported = true;
        next = stalls.repeats ? begun + 2000 * seconds : Infinity;
      }
      const end = Math.min(next, until);
      answer = this.#executePart(handle, end === Infinity ? undefined : end);
    }
    if (isReported) stalls.tell(source, undefined, answer === status.done);
    return answer;
  }

  #fail(failure: Failure): void {
    if (!this.#isClosed) this.#report(failure);
  }

  #report({ reason, rank, ranks, text }: Failure): void {
    const others = Int32Array.from(ranks.slice(0, mostOtherRanks));
    this.#binding.failGroup(this.#handle, failureReasons.indexOf(reason), rank, others, text);
  }

  /**
   * Converts a failure to the error of the collective with this sequence number, or of the group
   * itself if `number` is undefined.
   */
  #errorOf(failure: NativeFailure, operation: string, number: number | undefined): CollError {
    const where = number === undefined ? '' : ` (collective ${number} of the group)`;
    const found = failureFrom(failure, this.#hosts);
    const make = () => failureError(found, { operation, where, size: this.size, whole: this.#whole });
    // The frames of this member do not help to find the error of another one, and hide its message in
    // the output of `coll run`, in which all members print theirs.
    const isOfOther = ['lost', 'failed', 'closed'].includes(found.reason) && found.rank !== this.rank;
    return isOfOther && process.env['COLL_RESTART'] !== undefined ? withoutStack(make) : make();
  }

  /** The names of the ranks in messages about different calls; undefined for plain numbers. */
  get #names(): readonly string[] | undefined {
    return this.#whole?.map((_, rank) => nameIn(this.#whole, rank));
  }

  #requireOpen(call: Call): void {
    if (this.#isClosed) throw closedError(this.#detailsOf(call));
  }

  #detailsOf(call: Call) {
    return { operation: operationOf(call), rank: this.rank };
  }
}

// For a program that blocks its event loop right after it has closed the group.
const mostDelayMillis = 5000;
const turnMillis = 1000;
// Longer than the engine's own limit.
const longestExitMillis = 6000;
const pausing = new Int32Array(new SharedArrayBuffer(4));

function pauseThread(): void {
  Atomics.wait(pausing, 0, 0, 1);
}
