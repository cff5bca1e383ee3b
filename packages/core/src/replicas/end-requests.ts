import { log } from '../support/logger.js';

/** Requests to end the process (SIGTERM), which a training answers by an end after its next step. */
export interface EndRequests {
  /** Whether the process was asked to end. */
  readonly isPending: boolean;
  /** From now on, the first request does not end the process. */
  accept(): void;
  /**
   * Records that another process of the training was asked to end. The request to this process may arrive after
   * `refuse`, and then does not end the process either.
   */
  expect(): void;
  /** From now on, requests end the process, except for an expected one. */
  refuse(): void;
}

// By the context of the replica.
const known = new WeakMap<object, EndRequests>();

/** Sets where a replica learns of requests. */
export function setEndRequests(replica: object, requests: EndRequests): void {
  known.set(replica, requests);
}

/** Where a replica learns of requests. Default: from the process, if it runs in the main thread. */
export function endRequestsOf(replica: object): EndRequests {
  return known.get(replica) ?? ofProcess;
}

const places = { isPending: 0, isAccepted: 1, isExpected: 2 } as const;

interface Signals {
  once(signal: 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGTERM', listener: () => void): unknown;
}

/** The SIGTERM of a process. A page in a browser gets none. */
export class ProcessEndRequests implements EndRequests {
  readonly #state: Int32Array;
  #isRefusing = false;

  /** @param state three numbers, 0 at first, which other threads may use by `ThreadEndRequests` */
  constructor(state: Int32Array = new Int32Array(3)) {
    this.#state = state;
  }

  get isPending(): boolean {
    return Atomics.load(this.#state, places.isPending) !== 0;
  }

  accept(): void {
    this.#isRefusing = false;
    if (Atomics.load(this.#state, places.isAccepted) !== 0) return;
    process()?.once('SIGTERM', this.#note);
    Atomics.store(this.#state, places.isAccepted, 1);
    Atomics.notify(this.#state, places.isAccepted);
  }

  expect(): void {
    Atomics.store(this.#state, places.isExpected, 1);
  }

  refuse(): void {
    this.#isRefusing = true;
    const isExpected = Atomics.load(this.#state, places.isExpected) !== 0;
    if (isExpected && !this.isPending) return;
    process()?.off('SIGTERM', this.#note);
    Atomics.store(this.#state, places.isAccepted, 0);
  }

  readonly #note = () => {
    Atomics.store(this.#state, places.isPending, 1);
    const effect = this.#isRefusing
      ? 'the training has already ended, because another process of it got SIGTERM'
      : 'the training ends after its next step';
    log('warn', `SIGTERM: ${effect}; a second SIGTERM ends the process`);
    if (this.#isRefusing) this.refuse();
  };
}

const longestWaitMillis = 5000;

/** The requests that reach the process of a thread, which itself gets no signals. */
export class ThreadEndRequests implements EndRequests {
  readonly #state: Int32Array<SharedArrayBuffer>;
  readonly #askToAccept: () => void;
  readonly #waitMillis: number;

  /** @param askToAccept makes the main thread call `accept` of its `ProcessEndRequests` */
  constructor(state: Int32Array<SharedArrayBuffer>, askToAccept: () => void, waitMillis = longestWaitMillis) {
    this.#state = state;
    this.#askToAccept = askToAccept;
    this.#waitMillis = waitMillis;
  }

  get isPending(): boolean {
    return Atomics.load(this.#state, places.isPending) !== 0;
  }

  /** Blocks this thread until the main thread has accepted, so that no request is lost from then on. */
  accept(): void {
    this.#askToAccept();
    if (Atomics.wait(this.#state, places.isAccepted, 0, this.#waitMillis) !== 'timed-out') return;
    const seconds = this.#waitMillis / 1000;
    const message = `the main thread has not answered for ${seconds} s, so SIGTERM may end the process instead of the training`;
    log('warn', `${message}; do not block the main thread while replicas train in threads`);
  }

  expect(): void {
    Atomics.store(this.#state, places.isExpected, 1);
  }

  /** The main thread refuses requests at the end of the run. */
  refuse(): void {}
}

const ofProcess = new ProcessEndRequests();

function process(): Signals | undefined {
  const host = globalThis as { process?: Partial<Signals> };
  return typeof host.process?.once === 'function' ? (host.process as Signals) : undefined;
}
