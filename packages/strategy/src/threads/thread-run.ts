import {
  AbortedError,
  type CollError,
  failThreadGroup,
  InternalError,
  RuntimeError,
  type ThreadGroup,
} from '@coll/core';
import { logRunNotes, messageOf, type RunNote, type WaitingRanks, waitingRanks } from '@coll/core/internal';
import { host } from '../host.js';
import { annotate } from '../replicas/replica-error.js';
import type { onRecords, RecordedRun, RunOptions } from '../scope/run-options.js';
import { MergeCalls } from './merge-calls.js';
import { decodeError, isMismatch } from './thread-errors.js';
import type { ReplicaMessage, ToReplica } from './thread-messages.js';
import { decode } from './thread-values.js';

// Milliseconds by which an error may arrive after the errors that it causes in other replicas.
const consequenceMillis = 500;

// As a group of threads says it on hosts that watch threads.
const lostText = 'was lost: its thread ended before it closed the group';

/** The replicas of other workers, as seen by this worker. */
export interface OtherReplicas {
  /**
   * The failure of one of the other workers' replicas; undefined if none has failed. Polled
   * repeatedly.
   */
  failure(): Error | undefined;
  /** Notifies the replicas of other workers that a replica of this worker has failed. */
  fail(error: unknown): void;
  /**
   * Waits until a worker whose threads have ended leaves as well, or fails. Resolves with its failure, undefined
   * if it has left.
   */
  departure(): Promise<Error | undefined>;
}

/** The replicas of one run in threads. */
export interface RunningReplicas {
  readonly group: ThreadGroup;
  /** The id of the first replica. */
  readonly firstReplica: number;
  readonly onReport: RunOptions['onReport'];
  readonly onRecords?: RecordedRun[typeof onRecords];
  /** Called if a replica accepts requests to end the process. */
  readonly acceptEnd: () => void;
  /** The replicas in other processes; undefined if there are none. */
  readonly others: Pick<OtherReplicas, 'departure'> | undefined;
  /** Sends a message to the thread of a replica. */
  tell(replica: number, message: ToReplica, what: string): void;
}

/** Handles the events of replica threads during one run. */
export class ThreadRun {
  /** The results of the replicas; rejected with the first failure. */
  readonly results: Promise<unknown[]>;
  /** Whether the replicas can make further collectives after this run. */
  canGoOn = true;
  /** Number of bytes that the thread of each replica has printed until the end of this run. */
  readonly printed: number[] = [];
  readonly #replicas: RunningReplicas;
  readonly #merges: MergeCalls;
  readonly #notes: (RunNote | undefined)[] = [];
  readonly #done = new Map<number, unknown>();
  /** The replicas that were asked to leave, although others wait for them. */
  readonly #leaving = new Set<number>();
  readonly #hasReported = new Set<number>();
  readonly #exited = new Set<number>();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  /** Whether another worker's threads have ended. */
  #isForsaken = false;
  #resolve: (results: unknown[]) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(replicas: RunningReplicas) {
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#replicas = replicas;
    this.#merges = new MergeCalls(replicas.group.size);
  }

  abort(reason: unknown): void {
    this.#fail(0, new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: reason }), 'aborted');
  }

  /** Ends all replicas with an error from outside of them. */
  fail(error: unknown): void {
    // `departure` says how the group of workers has ended.
    if (!this.#isForsaken) this.#fail(0, error);
  }

  message(replica: number, message: ReplicaMessage): void {
    try {
      this.#hear(replica, message);
    } catch (error) {
      this.#fail(replica, error);
    }
  }

  exit(replica: number, code: number, error: unknown): void {
    this.#exited.add(replica);
    if (this.#hasReported.has(replica)) return;
    if (this.#done.has(replica) && error === undefined) {
      this.askToLeave();
      return;
    }
    const id = this.#idOf(replica);
    const message = `replica ${id}: its thread ended with exit code ${code} before it returned`;
    this.#hearError(
      replica,
      error === undefined ? new RuntimeError('ERR_COLL_REPLICA', message, { rank: id }) : annotate(error, id),
    );
  }

  /** The replicas that wait for others; undefined if no replica waits. */
  get waiting(): WaitingRanks | undefined {
    const { group, others: workers } = this.#replicas;
    const merging = this.#merges.replicas;
    const others = Array.from({ length: group.size }, (_, replica) => replica).filter((id) => !merging.includes(id));
    const stall =
      merging.length > 0 && others.length > 0
        ? { count: this.#merges.begun, operation: 'mergeCall', waiting: merging, missing: others }
        : waitingRanks(group);
    // Only replica 0 waits for other workers, which reports itself.
    return workers && stall?.missing.join() === '0' ? undefined : stall;
  }

  /**
   * Asks each replica that has ended while others wait for it in a collective to leave. The replicas then report that
   * they made different numbers of collectives. Replicas of several processes always leave before they end.
   */
  askToLeave(): void {
    const { group, others, tell } = this.#replicas;
    if (others || this.#done.size === 0 || this.#done.size === group.size) return;
    for (const replica of waitingRanks(group)?.missing ?? []) {
      // Not every host tells the group that a thread has ended.
      if (this.#exited.has(replica)) failThreadGroup(group, replica, lostText, 'lost');
      if (!this.#done.has(replica) || this.#leaving.has(replica) || this.#exited.has(replica)) continue;
      this.#leaving.add(replica);
      tell(replica, { type: 'leave' }, 'a request to leave');
    }
  }

  #hear(replica: number, message: ReplicaMessage): void {
    switch (message.type) {
      case 'report':
        this.#replicas.onReport?.(this.#idOf(replica), decode(message.value));
        return;
      case 'records':
        this.#replicas.onRecords?.(this.#idOf(replica), message.rows);
        return;
      case 'acceptEnd':
        this.#replicas.acceptEnd();
        return;
      case 'merge':
        this.#merges.add(replica, message.args);
        this.#holdMerge();
        return;
      case 'merged':
        this.#merges.end();
        message.results.forEach((value, other) => {
          this.#replicas.tell(other, { type: 'outcome', value }, 'the result of a merge call');
        });
        this.#holdMerge();
        return;
      case 'mergeFailed':
        this.#fail(replica, decodeError(message.error));
        return;
      case 'result':
        this.#done.set(replica, decode(message.value));
        this.canGoOn &&= message.canGoOn;
        this.printed[replica] = message.printed;
        this.#notes[replica] = message.note;
        this.#holdMerge();
        this.askToLeave();
        this.#resolveOnceDone();
        return;
      case 'left':
        this.#leaving.delete(replica);
        this.canGoOn &&= message.canGoOn;
        this.#resolveOnceDone();
        return;
      case 'error':
        this.#hasReported.add(replica);
        this.#hearError(replica, decodeError(message.error));
    }
  }

  /**
   * If all threads wait in a merge call, lets replica 0 run the call for all. Fails if a replica
   * has ended while others wait.
   */
  #holdMerge(): void {
    const [ended] = this.#done.keys();
    if (this.#merges.replicas.length > 0 && ended !== undefined) {
      this.#fail(ended, this.#mergesDiffer(ended));
      return;
    }
    const args = this.#merges.next();
    if (args) this.#replicas.tell(0, { type: 'hold', args }, 'an argument of a merge call');
  }

  #resolveOnceDone(): void {
    const { size } = this.#replicas.group;
    if (this.#done.size < size || this.#leaving.size > 0) return;
    for (const timer of this.#timers) clearTimeout(timer);
    logRunNotes(this.#notes, this.#replicas.firstReplica);
    this.#resolve(Array.from({ length: size }, (_, replica) => this.#done.get(replica)));
  }

  #hearError(replica: number, error: Error): void {
    const { code, rank } = error as Partial<CollError>;
    // Another replica may report the cause of this error later, and that must be reported instead.
    const isConsequence = code === 'ERR_COLL_PEER_FAILED' && rank !== this.#idOf(replica);
    const mayBeExplained = isMismatch(code) && !this.#haveAllReported;
    const fail = (cause = this.#explained(replica, error)) => this.#fail(replica, cause);
    const { others, firstReplica, group } = this.#replicas;
    const isElsewhere = rank !== undefined && (rank < firstReplica || rank >= firstReplica + group.size);
    if (others && code === 'ERR_COLL_CLOSED' && isElsewhere) {
      // An exception that ends the program of another worker may arrive after its threads have ended.
      this.#isForsaken = true;
      void others.departure().then(fail);
    } else if (isConsequence || mayBeExplained) this.#timers.push(setTimeout(() => fail(), consequenceMillis));
    // Messages of other threads that have arrived by now may explain the error.
    else host.nextTurn(() => fail());
  }

  /**
   * Explains an error of a collective that has another cause: a replica that has ended, or waits in
   * a merge call, while the others run the collective.
   */
  #explained(replica: number, error: Error): Error {
    const { code, rank, operation } = error as Partial<CollError>;
    const merging = this.#merges.replicas;
    if (code === 'ERR_COLL_MERGE' && merging.length > 0) return this.#mergesDiffer(replica, error);
    if (code === 'ERR_COLL_CLOSED' && rank !== undefined && rank !== this.#idOf(replica)) {
      const message = `replicas made different numbers of collectives: replica ${rank} has ended while replica ${this.#idOf(replica)} waits in ${operation}; all replicas must make the same number of steps`;
      return new RuntimeError('ERR_COLL_MERGE', message, { rank, operation, cause: error });
    }
    if (merging.length === 0 || !isMismatch(code)) return error;
    const message = `replicas make different calls: replica ${this.#idsOf(merging)} calls mergeCall, but not all replicas do`;
    return new InternalError('ERR_COLL_MISMATCH', `${message}; ${error.message}`, {
      cause: error,
      operation: 'mergeCall',
    });
  }

  /** The error for a replica that has ended while others wait in a merge call. */
  #mergesDiffer(ended: number, cause?: Error): RuntimeError {
    const [rank, others] = [this.#idOf(ended), this.#idsOf(this.#merges.replicas)];
    const { begun } = this.#merges;
    const message = `replicas made different numbers of merge calls: replica ${rank} has ended after ${begun} while replica ${others} waits in merge call ${begun + 1} of the run`;
    const advice = 'all replicas must make the same calls in the same order';
    return new RuntimeError('ERR_COLL_MERGE', `${message}; ${advice}`, { rank, operation: 'mergeCall', cause });
  }

  get #haveAllReported(): boolean {
    return !this.#replicas.others && this.#hasReported.size === this.#replicas.group.size;
  }

  #idOf(replica: number): number {
    return this.#replicas.firstReplica + replica;
  }

  #idsOf(replicas: readonly number[]): string {
    return replicas.map((replica) => this.#idOf(replica)).join(', ');
  }

  #fail(replica: number, error: unknown, reason: 'failed' | 'aborted' = 'failed'): void {
    failThreadGroup(this.#replicas.group, replica, `${reason}: ${messageOf(error)}`, reason);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#reject(error);
  }
}
