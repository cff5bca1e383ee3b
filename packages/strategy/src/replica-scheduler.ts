import { AbortedError, RuntimeError, UnavailableError } from '@coll/core';
import { type ErrorFor, Rendezvous } from '@coll/core/internal';
import { annotate } from './replica-error.js';

interface Replica {
  /** Index among the replicas of this thread. */
  readonly place: number;
  /** Index among the replicas of all workers, for messages. */
  readonly id: number;
  hasEnded: boolean;
  result?: unknown;
}

/**
 * Decides which replica of a thread runs next: replica 0 until it waits for the others or ends,
 * then replica 1, and so on; in the same order again after each common call. This order makes runs
 * reproducible.
 */
export class ReplicaScheduler {
  /** The rendezvous of the replicas. */
  readonly arrivals: Rendezvous;
  readonly #replicas: readonly Replica[];
  /** The error that ended the run before all replicas had ended. */
  #failure: { readonly error: unknown } | undefined;
  /** Delivers the results of one call after the other. */
  #delivering: Promise<void> = Promise.resolve();
  #undelivered = 0;
  readonly #wakers: (() => void)[] = [];

  /** Number of replicas in this thread, and the id of the first of them. */
  constructor(size: number, firstReplica = 0) {
    this.#replicas = Array.from({ length: size }, (_, place) => ({ place, id: firstReplica + place, hasEnded: false }));
    this.arrivals = new Rendezvous(
      this.#replicas.map(({ id }) => id),
      {
        onChange: () => this.#wake(),
        onError: (error) => this.fail(error),
        settle: (deliver) => this.#deliver(deliver),
      },
    );
  }

  /**
   * Calls a function as each replica and returns the results.
   * @throws the error of the first replica that fails, with its number; RuntimeError or
   * InternalError if replicas wait for different calls; AbortedError
   */
  async run(call: (place: number) => unknown, signal?: AbortSignal): Promise<unknown[]> {
    const abort = () => {
      const error = new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: signal?.reason });
      this.fail(error);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    try {
      for (const replica of this.#replicas) {
        if (!this.#failure) void this.#play(replica, call);
        await this.#until(() => this.#isQuiet(replica));
      }
      await this.#until(() => this.#undelivered === 0 && this.#isAtRest());
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
    this.#wake();
  }

  async #play(replica: Replica, call: (place: number) => unknown): Promise<void> {
    try {
      replica.result = await call(replica.place);
    } catch (error) {
      if (!this.#failure) {
        const named = annotate(error, replica.id);
        this.fail(named, (operation) => peerFailed(operation, named, replica.id));
      }
    }
    replica.hasEnded = true;
    this.#wake();
  }

  #deliver(deliver: readonly (() => void)[]): void {
    this.#undelivered += 1;
    this.#delivering = this.#delivering
      .then(async () => {
        for (const replica of this.#replicas) {
          deliver[replica.place]?.();
          // Continuations of the resolved promise run before the next replica.
          await new Promise((resolve) => setImmediate(resolve));
          await this.#until(() => this.#isQuiet(replica));
        }
      })
      // `run` throws the error that ends the run.
      .catch(() => {})
      .finally(() => {
        this.#undelivered -= 1;
        this.#wake();
      });
  }

  /** Whether a replica waits for others or has ended. */
  #isQuiet({ place, hasEnded }: Replica): boolean {
    return hasEnded || this.arrivals.isWaiting(place);
  }

  /**
   * Whether no replica can continue: all of them wait or have ended, and no common call is in
   * progress.
   */
  #isAtRest(): boolean {
    return !this.arrivals.isPerforming && this.#replicas.every((replica) => this.#isQuiet(replica));
  }

  async #until(condition: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      if (condition()) return;
      await new Promise<void>((resolve) => this.#wakers.push(resolve));
    }
  }

  #wake(): void {
    for (const wake of this.#wakers.splice(0)) wake();
  }

  /** @throws RuntimeError if some replicas have ended while others wait for them */
  #requireAllEnded(): void {
    const waiting = this.#replicas.filter(({ place }) => this.arrivals.waitingIn(place));
    const [first] = waiting;
    const gone = this.#replicas.find(({ place }) => !this.arrivals.waitingIn(place));
    if (!first || !gone) return;
    const nameOf = ({ place }: Replica) => (this.arrivals.waitingIn(place) as { readonly name: string }).name;
    const waits = waiting.map((replica) => `replica ${replica.id} waits in ${nameOf(replica)}`).join(', ');
    const alike = 'all replicas must make the same calls in the same order';
    const told = `replicas made different numbers of merge calls: replica ${gone.id} has ended while ${waits}; ${alike}`;
    const error = new RuntimeError('ERR_COLL_MERGE', told, { rank: gone.id, operation: nameOf(first) });
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
