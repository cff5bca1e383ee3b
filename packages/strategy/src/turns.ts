import { AbortedError, DeadlineExceededError, InternalError, RuntimeError, UnavailableError } from '@coll/core';
import { afterSeconds, messageOf } from '@coll/core/internal';
import { annotate } from './replica-error.js';

/** Something that all replicas do together: replica 0's `hold` gets everybody's input and gives each its output. */
export interface Joint {
  readonly name: string;
  /** Of the structure that is handed in, where it has to be the same. */
  readonly form?: string;
  readonly input: unknown;
  readonly timeoutSeconds?: number | null;
  readonly signal?: AbortSignal | undefined;
  hold(inputs: readonly unknown[]): Promise<readonly unknown[]>;
}

/** A replica's part in a joint, from its coming until it goes on. */
interface Attendance {
  readonly joint: Joint;
  /** Ends timeout and signal. */
  unwatch(): void;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

interface Replica {
  /** Among those here, from 0. */
  readonly place: number;
  /** Among those of all workers, for messages. */
  readonly id: number;
  readonly waiting: Attendance[];
  hasEnded: boolean;
  result?: unknown;
}

type ErrorFor = (operation: string) => unknown;

/**
 * The replicas of one thread, one after the other: replica 0 until it waits for the others or ends, then replica 1, and so on; what
 * they wait for is done once all have come to it. So runs are reproducible.
 */
export class Turns {
  readonly #replicas: readonly Replica[];
  #held: readonly Attendance[] = [];
  /** What the run ends with before all replicas have ended. */
  #failure: { readonly error: unknown } | undefined;
  /** Why nothing can be done together any more. */
  #ruin: ErrorFor | undefined;
  #wake: () => void = () => {};

  /** Replicas here, and the id of the first of them. */
  constructor(size: number, firstReplica = 0) {
    this.#replicas = Array.from({ length: size }, (_, place) => ({
      place,
      id: firstReplica + place,
      waiting: [],
      hasEnded: false,
    }));
  }

  /**
   * Calls a function as each replica and returns what they return.
   * @throws the error of the first replica that fails, with its number; RuntimeError or InternalError where replicas differ in
   * what they wait for; AbortedError
   */
  async run(call: (place: number) => unknown, signal?: AbortSignal): Promise<unknown[]> {
    const abort = () => {
      const error = new AbortedError('ERR_COLL_ABORTED', 'run was aborted', { cause: signal?.reason });
      this.fail(error, () => error);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    try {
      for (const replica of this.#replicas) {
        if (!this.#failure) void this.#play(replica, call);
        await this.#until(() => isQuiet(replica));
      }
      while (this.#replicas.some(({ waiting, hasEnded }) => waiting.length > 0 || !hasEnded)) await this.#goOn();
      return this.#replicas.map(({ result }) => result);
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#spoil(
        (operation) => new RuntimeError('ERR_COLL_CLOSED', `${operation}: the run of this replica has ended`),
      );
    }
  }

  /** Suspends a replica until all have come to what it does with them. */
  join(place: number, joint: Joint): Promise<unknown> {
    const replica = this.#replicas[place] as Replica;
    if (this.#ruin) return Promise.reject(this.#ruin(joint.name));
    if (joint.signal?.aborted) return Promise.reject(abortedBefore(joint.name, joint.signal.reason));
    return new Promise((resolve, reject) => {
      replica.waiting.push({ joint, unwatch: this.#watch(replica, joint), resolve, reject });
      this.#wake();
    });
  }

  /** Ends the run with an error, and with it everything that replicas wait for. */
  fail(error: unknown, ruin: ErrorFor): void {
    this.#failure ??= { error };
    this.#spoil(ruin);
  }

  async #play(replica: Replica, call: (place: number) => unknown): Promise<void> {
    try {
      replica.result = await call(replica.place);
    } catch (error) {
      if (!this.#failure) {
        const told = annotate(error, replica.id);
        this.fail(told, (operation) => peerFailed(operation, told, replica.id));
      }
    }
    replica.hasEnded = true;
    this.#wake();
  }

  /** Does the next thing that all replicas do together, and lets each go on until it waits or ends. */
  async #goOn(): Promise<void> {
    await this.#until(() => this.#replicas.every(isQuiet));
    if (this.#replicas.every(({ waiting }) => waiting.length === 0)) return;
    const error = disagreement(this.#replicas);
    if (error) {
      this.fail(error, () => error);
      throw error;
    }
    this.#held = this.#replicas.map(({ waiting }) => waiting.shift() as Attendance);
    for (const { unwatch } of this.#held) unwatch();
    const outputs = await this.#hold(this.#held);
    for (const replica of this.#replicas) {
      this.#held[replica.place]?.resolve(outputs[replica.place]);
      // What follows the resolved promise runs before the next replica goes on.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#until(() => isQuiet(replica));
    }
    this.#held = [];
  }

  async #hold(held: readonly Attendance[]): Promise<readonly unknown[]> {
    const joints = held.map(({ joint }) => joint);
    let outputs: readonly unknown[] = [];
    let isDone = false;
    // Not awaited by itself, so that a run can be aborted meanwhile.
    (joints[0] as Joint).hold(joints.map(({ input }) => input)).then(
      (results) => {
        outputs = results;
        isDone = true;
        this.#wake();
      },
      (error: unknown) => this.fail(error, () => error),
    );
    await this.#until(() => isDone);
    return outputs;
  }

  async #until(condition: () => boolean): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      if (condition()) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #spoil(ruin: ErrorFor): void {
    this.#ruin ??= ruin;
    for (const { joint, unwatch, reject } of [
      ...this.#held,
      ...this.#replicas.flatMap(({ waiting }) => waiting.splice(0)),
    ]) {
      unwatch();
      reject(this.#ruin(joint.name));
    }
    this.#wake();
  }

  #watch(replica: Replica, joint: Joint): () => void {
    const { timeoutSeconds, signal } = joint;
    const endTimer = afterSeconds(timeoutSeconds, () => this.#expire(replica, joint));
    const abort = () => this.#spoil((operation) => abortedBy(operation, replica.id, signal?.reason));
    signal?.addEventListener('abort', abort);
    return () => {
      endTimer();
      signal?.removeEventListener('abort', abort);
    };
  }

  #expire({ id, waiting }: Replica, joint: Joint): void {
    const turn = waiting.findIndex((attendance) => attendance.joint === joint);
    const missing = this.#replicas.filter((other) => other.waiting.length <= turn).map((other) => other.id);
    const told =
      missing.length === 0
        ? `timed out on replica ${id} waiting for an earlier call to end`
        : `timed out on replica ${id} waiting for the others: replica ${missing.join(', ')} never came`;
    this.#spoil((operation) => {
      return new DeadlineExceededError('ERR_COLL_DEADLINE', `${operation}: ${told}`, { rank: id, operation });
    });
  }
}

function isQuiet({ waiting, hasEnded }: Replica): boolean {
  return waiting.length > 0 || hasEnded;
}

const alike = 'all replicas make the same calls in the same order';

/** The error where not all replicas wait for the same. */
function disagreement(replicas: readonly Replica[]): Error | undefined {
  const gone = replicas.find(({ waiting }) => waiting.length === 0);
  if (gone) {
    const others = replicas.filter(({ waiting }) => waiting.length > 0);
    const waits = others.map((other) => `replica ${other.id} waits in ${nextOf(other).name}`).join(', ');
    const told = `replicas made a different number of merge_call: replica ${gone.id} has ended while ${waits}; ${alike}`;
    const operation = nextOf(others[0] as Replica).name;
    return new RuntimeError('ERR_COLL_MERGE', told, { rank: gone.id, operation });
  }
  const [first] = replicas as readonly [Replica];
  const call = toldOf(nextOf(first));
  const odd = replicas.find((replica) => toldOf(nextOf(replica)) !== call);
  if (!odd) return undefined;
  const told = `replicas do different things together: replica ${first.id} calls ${call}, replica ${odd.id} ${toldOf(nextOf(odd))}; ${alike}`;
  return new InternalError('ERR_COLL_MISMATCH', told, { rank: odd.id, operation: nextOf(first).name });
}

/** What a replica waits for. */
function nextOf({ waiting }: Replica): Joint {
  return (waiting[0] as Attendance).joint;
}

function toldOf({ name, form = '' }: Joint): string {
  return form === '' ? name : `${name} of ${form}`;
}

function peerFailed(operation: string, { message }: Error, rank: number): UnavailableError {
  return new UnavailableError('ERR_COLL_PEER_FAILED', `${operation}: another replica failed: ${message}`, {
    rank,
    operation,
  });
}

function abortedBefore(operation: string, cause: unknown): AbortedError {
  return new AbortedError('ERR_COLL_ABORTED', `${operation} was aborted before it began`, { operation, cause });
}

function abortedBy(operation: string, rank: number, cause: unknown): AbortedError {
  return new AbortedError('ERR_COLL_ABORTED', `${operation}: replica ${rank} aborted: ${messageOf(cause)}`, {
    rank,
    operation,
    cause,
  });
}
