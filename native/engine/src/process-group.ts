import { type CollError, InternalError, log, nameOf, type RunOptions } from '@coll/core';
import { abortedError, busyError, closedError, type KnownCall, lostBufferError, lostRank } from '@coll/core/executor';
import { status } from './native-binding.js';
import type { CallHandle, GroupHandle, MemoryHandle, ProcessBinding, SegmentHandle } from './process-binding.js';
import type { ProcessCall } from './process-calls.js';
import { disagreementOf, type FailureKind, failureError, failureKinds, kindOf } from './process-failures.js';
import { type StallListener, StallWatch } from './stall-watch.js';

/** Who a member of a group of processes is, and how it reaches the others. */
export interface NativeGroupOptions {
  readonly rank: number;
  /** Taken descriptors of the connections over which the members watch each other, by rank; -1 for one's own. */
  readonly sockets: readonly number[];
  /** What messages call each rank: `rank 2 on host-b`. */
  readonly names: readonly string[];
  readonly heartbeatSeconds: number;
  /** Who wants to know of calls that wait for long. */
  readonly stalls?: StallListener | undefined;
}

/** How a member sends messages, by rank: over connections, which it takes over, or through memory of the lower one of the pair. */
export interface MessageOptions {
  readonly sockets: readonly (readonly number[])[];
  readonly rings: readonly (SegmentHandle | undefined)[];
  readonly generation: number;
  /** How many ranks can run at once. */
  readonly cores: number;
}

type Call = KnownCall<ProcessCall>;

/** A call that the group's own thread plays. */
interface Pending {
  readonly call: Call;
  readonly number: number;
  readonly options: RunOptions;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly abort: (() => void) | undefined;
}

// What takes longer is played by the group's thread at once: some ten microseconds.
const mostBytesHere = 256 * 1024;
const briefMicros = 20;

/** The calls of one member of a group of processes, over all of its communicators. */
export class NativeProcessGroup {
  readonly rank: number;
  readonly size: number;
  readonly #binding: ProcessBinding;
  readonly #handle: GroupHandle;
  readonly #names: readonly string[];
  readonly #pending = new Map<number, Pending>();
  readonly #stallSeconds: number | undefined;
  readonly #stallWatch: StallWatch | undefined;
  #calls = 0;
  #isClosed = false;
  #parted: (() => void) | undefined;

  constructor(binding: ProcessBinding, { rank, sockets, names, heartbeatSeconds, stalls }: NativeGroupOptions) {
    this.rank = rank;
    this.size = sockets.length;
    this.#binding = binding;
    this.#names = names;
    this.#stallSeconds = stalls?.seconds;
    this.#stallWatch =
      stalls &&
      new StallWatch(
        stalls,
        () => this.#firstCall(),
        () => binding.absent(this.#handle),
      );
    const wake = () => this.#settle();
    this.#handle = binding.group(rank, Int32Array.from(sockets), names, heartbeatSeconds * 1000, wake);
  }

  /** Whether this member has left. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Lets all members work on the memory of all. */
  playShared(memory: MemoryHandle, cores: number): void {
    this.#binding.playShared(this.#handle, memory, cores);
  }

  /** Lets members send each other messages. */
  playMessages({ sockets, rings, generation, cores }: MessageOptions): void {
    const lists = sockets.map((list) => Int32Array.from(list));
    this.#binding.playMessages(this.#handle, lists, rings, generation, cores);
  }

  /** Plays a call, blocking the calling thread. */
  playSync(call: Call, options: RunOptions): void {
    this.#requireOpen(call);
    if (this.#pending.size > 0) throw busyError(this.#detailsOf(call));
    this.#calls++;
    const { handle } = call.handle;
    const millis = millisOf(options);
    let answer = this.#stallSeconds
      ? this.#playWatched(call, millis, this.#stallSeconds * 1000)
      : this.#playToEnd(handle, millis);
    if (answer === status.done) return;
    if (answer !== status.failed) {
      this.#end(answer, call);
      answer = this.#playToEnd(handle, 0);
    }
    throw this.#failureOf(call, this.#calls - 1);
  }

  /** Begins a call here, and leaves it to the group's thread where it takes long. @returns undefined where it is over */
  play(call: Call, options: RunOptions): Promise<void> | undefined {
    this.#requireOpen(call);
    if (this.#pending.size === 0 && call.handle.bytes <= mostBytesHere) {
      const answer = this.#binding.tryCall(this.#handle, call.handle.handle, briefMicros);
      if (answer === status.done) {
        this.#calls++;
        return undefined;
      }
    }
    return this.submit(call, options);
  }

  /** Puts a call behind all others. */
  submit(call: Call, options: RunOptions): Promise<void> {
    this.#requireOpen(call);
    const number = this.#calls++;
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const abort = signal && (() => this.fail('aborted', `${this.#name} aborted: ${signal.reason}`));
      this.#binding.submit(this.#handle, call.handle.handle, number, millisOf(options));
      if (abort) signal.addEventListener('abort', abort);
      this.#pending.set(number, { call, number, options, resolve, reject, abort });
      this.#stallWatch?.look();
    });
  }

  /** Ends the group for all members, because of this one. */
  fail(kind: FailureKind, text: string, rank = this.rank): void {
    if (!this.#isClosed) this.#binding.failGroup(this.#handle, failureKinds.indexOf(kind), rank, text);
  }

  /** Why the group has ended; undefined while it has not. */
  failure(): CollError | undefined {
    const failure = this.#isClosed ? undefined : this.#binding.failure(this.#handle);
    return failure && failureError('group', this.#calls, failure);
  }

  /** Leaves the group. Its calls under way end with an error. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#pending.size > 0) this.fail('closed', `${this.#name} has left the group`);
    this.#isClosed = true;
    const parted = new Promise<void>((resolve) => {
      this.#parted = resolve;
    });
    this.#binding.leave(this.#handle);
    await parted;
    this.#binding.stopGroup(this.#handle);
    this.#rejectAll();
  }

  /** Leaves the group at once, when the process ends. */
  exit(code: number): void {
    if (this.#isClosed) return;
    if (code !== 0) this.fail('failed', `${this.#name} ended with exit code ${code}`);
    else if (this.#pending.size > 0) this.fail('closed', `${this.#name} has left the group`);
    this.#isClosed = true;
    this.#binding.leave(this.#handle);
    const until = performance.now() + longestExitMillis;
    while (!this.#binding.hasParted(this.#handle) && performance.now() < until) pauseThread();
    this.#binding.stopGroup(this.#handle);
  }

  #settle(): void {
    const results = this.#isClosed && !this.#parted ? [] : this.#binding.results(this.#handle);
    for (let at = 0; at < results.length; at += 2) {
      const pending = this.#pending.get(results[at] as number);
      if (pending) this.#take(pending, results[at + 1] as number);
    }
    if (this.#parted && this.#binding.hasParted(this.#handle)) this.#parted();
  }

  #take(pending: Pending, answer: number): void {
    const { call, number, options } = pending;
    const { signal } = options;
    if (answer !== status.done && answer !== status.failed) {
      this.#end(answer, call);
      this.#binding.submit(this.#handle, call.handle.handle, number, 0);
      return;
    }
    this.#pending.delete(number);
    this.#stallWatch?.look();
    if (pending.abort) signal?.removeEventListener('abort', pending.abort);
    if (answer === status.failed) pending.reject(this.#failureOf(call, number, signal));
    else if (lostRank(call, 1) === undefined) pending.resolve();
    else pending.reject(lostBufferError(nameOf(call.collective), this.rank));
  }

  /** Ends the group for what was found out about a call. */
  #end(answer: number, { collective }: Call): void {
    if (answer === status.disagreed) {
      const error = disagreementOf(this.#binding.states(this.#handle));
      this.fail(kindOf(error), error.message, error.rank);
      return;
    }
    const missing = this.#binding.missing(this.#handle);
    const others = this.#names.filter((_, rank) => rank !== this.rank).join(', ');
    const whom = `rank ${missing.join(', ')} never came to ${nameOf(collective)} (${this.#list(missing)})`;
    const told = missing.length > 0 ? whom : `${others} came to ${nameOf(collective)}, but did not end it`;
    this.fail('deadline', `timed out on rank ${this.rank} waiting for other workers: ${told}`);
  }

  #failureOf(call: Call, number: number, signal?: AbortSignal): CollError {
    const operation = nameOf(call.collective);
    const failure = this.#binding.failure(this.#handle);
    if (!failure) return new InternalError('ERR_COLL_INTERNAL', `${operation}: the engine failed without a reason`);
    const error = failureError(operation, number, failure);
    if (error.code !== 'ERR_COLL_ABORTED' || !signal?.aborted) return error;
    return abortedError('while it was under way', signal, this.#detailsOf(call));
  }

  #rejectAll(): void {
    for (const { call, reject } of this.#pending.values()) reject(closedError(this.#detailsOf(call)));
    this.#pending.clear();
    this.#stallWatch?.look();
  }

  /** As `playCall`, until the call ends or has expired. */
  #playToEnd(handle: CallHandle, millis: number): number {
    const until = millis > 0 ? performance.now() + millis : undefined;
    for (;;) {
      const answer = this.#playPart(handle, until);
      if (answer !== status.waiting) return answer;
    }
  }

  // A thread is ended where a function of JavaScript begins: this one.
  #playPart(handle: CallHandle, until: number | undefined): number {
    const left = until === undefined ? 0 : Math.max(until - performance.now(), leastMillis);
    return this.#binding.playCall(this.#handle, handle, left);
  }

  /** The same; says so once where the call waits for long: who reads reports cannot be reached while this thread is blocked. */
  #playWatched(call: Call, millis: number, stallMillis: number): number {
    const { handle } = call.handle;
    const isShort = millis > 0 && millis <= stallMillis;
    const answer = this.#playToEnd(handle, isShort ? millis : stallMillis);
    if (answer !== status.expired || isShort) return answer;
    const missing = this.#binding.missing(this.#handle);
    const whom = missing.length > 0 ? this.#list(missing) : 'others that came, but are not done';
    const told = `${this.#name} has waited ${stallMillis / 1000} seconds in ${nameOf(call.collective)}`;
    log('warn', `${told} (collective ${this.#calls - 1} of the group) for ${whom}`);
    return this.#playToEnd(handle, millis > 0 ? millis - stallMillis : 0);
  }

  #firstCall() {
    const [first] = this.#pending.values();
    return first && { number: first.number, operation: nameOf(first.call.collective) };
  }

  get #name(): string {
    return this.#names[this.rank] as string;
  }

  #list(ranks: readonly number[]): string {
    return ranks.map((rank) => this.#names[rank]).join(', ');
  }

  #requireOpen(call: Call): void {
    if (this.#isClosed) throw closedError(this.#detailsOf(call));
  }

  #detailsOf({ collective }: Call) {
    return { operation: nameOf(collective), rank: this.rank };
  }
}

const longestExitMillis = 600;
// None would be for ever.
const leastMillis = 0.001;
const pausing = new Int32Array(new SharedArrayBuffer(4));

function pauseThread(): void {
  Atomics.wait(pausing, 0, 0, 1);
}

function millisOf({ timeoutSeconds }: RunOptions): number {
  return timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds * 1000 : 0;
}
