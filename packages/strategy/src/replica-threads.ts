import { AbortedError, type CollError, InternalError, RuntimeError, type ThreadGroup } from '@coll/core';
import { failThreadGroup, messageOf } from '@coll/core/internal';
import { MergeCalls } from './merge-calls.js';
import { annotate } from './replica-error.js';
import type { RunOptions } from './run-options.js';
import { decodeError } from './thread-errors.js';
import type { ReplicaMessage, ToReplica } from './thread-messages.js';
import { decode } from './thread-values.js';

/** The thread of one replica, as seen by its parent thread. */
export interface ReplicaThread {
  /** @throws RuntimeError for a message that cannot be posted */
  tell(message: ToReplica, what: string): void;
  /** Waits until the thread has exited, but terminates it after `graceMillis` milliseconds. */
  end(graceMillis: number): Promise<void>;
}

/** Receives the events of a replica's thread. */
export interface ReplicaListener {
  message(replica: number, message: ReplicaMessage): void;
  /** Called when the thread has exited; `error` is the uncaught error, if any. */
  exit(replica: number, code: number, error: unknown): void;
}

// Milliseconds by which an error may arrive after the errors that it causes in other replicas.
const consequenceMillis = 500;

/** The replicas of this process. */
export interface ThreadedReplicas {
  readonly group: ThreadGroup;
  /** The id of the first replica. */
  readonly firstReplica: number;
  readonly onReport: RunOptions['onReport'];
}

/** Handles the events of replica threads. */
export class ReplicaThreads implements ReplicaListener {
  /** The results of the replicas; rejected with the first failure. */
  readonly results: Promise<unknown[]>;
  readonly #threads: ReplicaThread[] = [];
  readonly #group: ThreadGroup;
  readonly #firstReplica: number;
  readonly #onReport: RunOptions['onReport'];
  readonly #merges: MergeCalls;
  readonly #done = new Map<number, unknown>();
  readonly #hasToldError = new Set<number>();
  readonly #timers: NodeJS.Timeout[] = [];
  #resolve: (results: unknown[]) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  /** Starts the thread of each replica. */
  constructor(
    { group, firstReplica, onReport }: ThreadedReplicas,
    start: (replica: number, listener: ReplicaListener) => ReplicaThread,
  ) {
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#group = group;
    this.#firstReplica = firstReplica;
    this.#onReport = onReport;
    this.#merges = new MergeCalls(group.size);
    try {
      for (let replica = 0; replica < group.size; replica++) this.#threads.push(start(replica, this));
    } catch (error) {
      this.#fail(this.#threads.length, error);
    }
  }

  abort(reason: unknown): void {
    this.#fail(0, new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: reason }), 'aborted');
  }

  /** Ends all replicas with an error from outside of them. */
  fail(error: Error): void {
    this.#fail(0, error);
  }

  async end(grace: number): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end(grace)));
  }

  message(replica: number, message: ReplicaMessage): void {
    try {
      this.#hear(replica, message);
    } catch (error) {
      this.#fail(replica, error);
    }
  }

  exit(replica: number, code: number, error: unknown): void {
    if (this.#hasToldError.has(replica) || (this.#done.has(replica) && error === undefined)) return;
    const id = this.#idOf(replica);
    const told = `replica ${id}: its thread ended with exit code ${code} before it returned`;
    this.#hearError(
      replica,
      error === undefined ? new RuntimeError('ERR_COLL_REPLICA', told, { rank: id }) : annotate(error, id),
    );
  }

  #hear(replica: number, message: ReplicaMessage): void {
    switch (message.type) {
      case 'report':
        this.#onReport?.(this.#idOf(replica), decode(message.value));
        return;
      case 'merge':
        this.#merges.add(replica, message.args);
        this.#holdMerge();
        return;
      case 'merged':
        this.#merges.end();
        this.#threads.forEach((thread, other) => {
          thread.tell({ type: 'outcome', value: message.results[other] }, 'the result of a merge call');
        });
        this.#holdMerge();
        return;
      case 'mergeFailed':
        this.#fail(replica, decodeError(message.error));
        return;
      case 'result':
        this.#done.set(replica, decode(message.value));
        this.#holdMerge();
        if (this.#done.size === this.#threads.length)
          this.#resolve(this.#threads.map((_, other) => this.#done.get(other)));
        return;
      case 'error':
        this.#hasToldError.add(replica);
        this.#hearError(replica, decodeError(message.error));
    }
  }

  /**
   * If all threads wait in a merge call, lets replica 0 run the call for all. Fails if a replica
   * has ended while others wait.
   */
  #holdMerge(): void {
    const waiting = this.#merges.replicas;
    const [ended] = this.#done.keys();
    if (waiting.length > 0 && ended !== undefined) {
      const [rank, others] = [this.#idOf(ended), this.#idsOf(waiting)];
      const told = `replicas made different numbers of merge calls: replica ${rank} has ended while replica ${others} waits`;
      this.#fail(ended, new RuntimeError('ERR_COLL_MERGE', told, { rank, operation: 'mergeCall' }));
      return;
    }
    const args = this.#merges.next();
    if (args) this.#threads[0]?.tell({ type: 'hold', args }, 'an argument of a merge call');
  }

  #hearError(replica: number, error: Error): void {
    const { code, rank } = error as Partial<CollError>;
    // This error, which another replica has caused, may arrive before that replica's own error,
    // which must be reported instead.
    if (code === 'ERR_COLL_PEER_FAILED' && rank !== this.#idOf(replica))
      this.#timers.push(setTimeout(() => this.#fail(replica, error), consequenceMillis));
    // Messages of other threads that have arrived by now may explain the error.
    else setImmediate(() => this.#fail(replica, this.#explained(replica, error)));
  }

  /**
   * Explains an error of a collective that has another cause: a replica that has ended, or waits in
   * a merge call, while the others run the collective.
   */
  #explained(replica: number, error: Error): Error {
    const { code, rank, operation } = error as Partial<CollError>;
    if (code === 'ERR_COLL_CLOSED' && rank !== undefined && rank !== this.#idOf(replica)) {
      const told = `replicas made different numbers of collectives: replica ${rank} has ended while replica ${this.#idOf(replica)} waits in ${operation}; all replicas must make the same number of steps`;
      return new RuntimeError('ERR_COLL_MERGE', told, { rank, operation, cause: error });
    }
    const merging = this.#merges.replicas;
    const mismatches = ['ERR_COLL_MISMATCH', 'ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH'];
    if (merging.length === 0 || !mismatches.includes(code as string)) return error;
    const told = `replicas make different calls: replica ${this.#idsOf(merging)} calls mergeCall, but not all replicas do`;
    return new InternalError('ERR_COLL_MISMATCH', `${told}; ${error.message}`, {
      cause: error,
      operation: 'mergeCall',
    });
  }

  #idOf(replica: number): number {
    return this.#firstReplica + replica;
  }

  #idsOf(replicas: readonly number[]): string {
    return replicas.map((replica) => this.#idOf(replica)).join(', ');
  }

  #fail(replica: number, error: unknown, reason: 'failed' | 'aborted' = 'failed'): void {
    failThreadGroup(this.#group, replica, `${reason}: ${messageOf(error)}`, reason);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#reject(error);
  }
}
