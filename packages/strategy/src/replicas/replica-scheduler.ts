import { AbortedError, RuntimeError, UnavailableError } from '@coll/core';
import { type ErrorFor, Rendezvous } from '@coll/core/internal';
import { host } from '../host.js';
import { annotate } from './replica-error.js';

interface Replica {
  /** Index among the replicas of this thread. */
  readonly index: number;
  /** Index among the replicas of all workers, for messages. */
  readonly id: number;
  hasEnded: boolean;
  result?: unknown;
}

/** What `run` waits for. */
interface Awaited {
  isDone(): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

// Milliseconds between two turns of the event loop, for timers, sockets and signals.
const turnMillis = 10;

/**
 * Decides which replica of a thread runs next: replica 0 until it waits for the others or ends,
 * then replica 1, and so on; in the same order again after each common call. This order makes runs
 * reproducible. It decides once all promise callbacks have run, so that the replica before cannot
 * go on by itself.
 */
export class ReplicaScheduler {
  /** The rendezvous of the replicas. */
  readonly arrivals: Rendezvous;
  readonly #replicas: readonly Replica[];
  /** The error that ended the run before all replicas had ended. */
  #failure: { readonly error: unknown } | undefined;
  #awaited: Awaited | undefined;
  /** The calls whose results are not delivered, the oldest first: each resumes the replica at an index. */
  readonly #deliveries: ((index: number) => void)[] = [];
  /** Number of replicas that have the result of the oldest of these calls. */
  #delivered = 0;
  #isDecisionDue = false;
  /** Whether nothing is delivered before the next turn of the event loop. */
  #isTurnDue = false;
  #lastTurn = performance.now();

  /** Number of replicas in this thread, and the id of the first of them. */
  constructor(size: number, firstReplica = 0) {
    this.#replicas = Array.from({ length: size }, (_, index) => ({ index, id: firstReplica + index, hasEnded: false }));
    this.arrivals = new Rendezvous(
      this.#replicas.map(({ id }) => id),
      {
        onChange: () => this.#change(),
        onError: (error) => this.fail(error),
        settle: (deliver) => {
          this.#deliveries.push(deliver);
          if (this.#deliveries.length === 1) this.#deliver();
        },
      },
    );
  }

  /**
   * Calls a function as each replica and returns the results.
   * @throws the error of the first replica that fails, with its number; RuntimeError or
   * InternalError if replicas wait for different calls; AbortedError
   */
  async run(call: (index: number) => unknown, signal?: AbortSignal): Promise<unknown[]> {
    const abort = () => {
      const error = new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: signal?.reason });
      this.fail(error);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    try {
      for (const replica of this.#replicas) {
        if (!this.#failure) void this.#runReplica(replica, call);
        await this.#until(() => this.#isQuiet(replica));
      }
      await this.#until(() => this.#isAtRest());
      this.#requireAllEnded();
      return this.#replicas.map(({ result }) => result);
    } finally {
      signal?.removeEventListener('abort', abort);
      this.arrivals.fail(
        (operation) => new RuntimeError('ERR_COLL_CLOSED', `${operation}: the run of this replica has ended`),
      );
    }
  }

  /**
   * Ends the run with an error. Each waiting replica gets the error that `errorFor` returns for its
   * operation; by default the same error.
   */
  fail(error: unknown, errorFor: ErrorFor = () => error): void {
    this.#failure ??= { error };
    this.arrivals.fail(errorFor);
    this.#change();
  }

  async #runReplica(replica: Replica, call: (index: number) => unknown): Promise<void> {
    try {
      replica.result = await call(replica.index);
    } catch (error) {
      if (!this.#failure) {
        const named = annotate(error, replica.id);
        this.fail(named, (operation) => peerFailed(operation, named, replica.id));
      }
    }
    replica.hasEnded = true;
    this.#change();
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#awaited = { isDone, resolve, reject };
      this.#change();
    });
  }

  /** Decides who goes on, once the promise callbacks that are due have run. */
  #change(): void {
    if (this.#isDecisionDue) return;
    this.#isDecisionDue = true;
    host.afterPromises(this.#decide);
  }

  readonly #decide = (): void => {
    this.#isDecisionDue = false;
    if (!this.#failure) this.#deliver();
    const awaited = this.#awaited;
    if (!awaited || !(this.#failure || awaited.isDone())) return;
    this.#awaited = undefined;
    if (this.#failure) awaited.reject(this.#failure.error);
    else awaited.resolve();
  };

  /** Resumes the next replica with a result, unless the one before it still runs. */
  #deliver(): void {
    if (this.#isTurnDue) return;
    const before = this.#replicas[this.#delivered - 1];
    if (before && !this.#isQuiet(before)) return;
    if (this.#delivered === this.#replicas.length) {
      this.#deliveries.shift();
      this.#delivered = 0;
    }
    const [deliver] = this.#deliveries;
    if (!deliver) return;
    if (this.#delivered === 0 && performance.now() - this.#lastTurn > turnMillis) {
      this.#awaitTurn();
      return;
    }
    const replica = this.#replicas[this.#delivered] as Replica;
    this.#delivered += 1;
    deliver(replica.index);
    // The next call or the end of a replica shows that it has gone on, unless it waits in another call, too.
    if (this.#isQuiet(replica)) this.#awaitTurn();
  }

  /** Delivers nothing before the next turn of the event loop. */
  #awaitTurn(): void {
    this.#isTurnDue = true;
    host.nextTurn(() => {
      this.#isTurnDue = false;
      this.#lastTurn = performance.now();
      this.#change();
    });
  }

  /** Whether a replica waits for others or has ended. */
  #isQuiet({ index, hasEnded }: Replica): boolean {
    return hasEnded || this.arrivals.isWaiting(index);
  }

  /**
   * Whether no replica can continue: all of them wait or have ended, no common call is in progress,
   * and all results are delivered.
   */
  #isAtRest(): boolean {
    if (this.#deliveries.length > 0 || this.arrivals.isExecuting) return false;
    return this.#replicas.every((replica) => this.#isQuiet(replica));
  }

  /** @throws RuntimeError if some replicas have ended while others wait for them */
  #requireAllEnded(): void {
    const waiting = this.#replicas.filter(({ index }) => this.arrivals.waitingAt(index));
    const [first] = waiting;
    const gone = this.#replicas.find(({ index }) => !this.arrivals.waitingAt(index));
    if (!first || !gone) return;
    const nameOf = ({ index }: Replica) => (this.arrivals.waitingAt(index) as { readonly name: string }).name;
    const waits = waiting.map((replica) => `replica ${replica.id} waits in ${nameOf(replica)}`).join(', ');
    const alike = 'all replicas must make the same calls in the same order';
    const { begun } = this.arrivals;
    const message = `replicas made different numbers of collectives: replica ${gone.id} has ended after ${begun} while ${waits}, collective ${begun + 1} of the run; ${alike}`;
    const error = new RuntimeError('ERR_COLL_MERGE', message, { rank: gone.id, operation: nameOf(first) });
    this.fail(error);
    throw error;
  }
}

function peerFailed(operation: string, { message }: Error, rank: number): UnavailableError {
  return new UnavailableError('ERR_COLL_PEER_FAILED', `${operation}: another replica failed: ${message}`, {
    rank,
    operation,
  });
}
