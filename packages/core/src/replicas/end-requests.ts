import { log } from '../support/logger.js';

/** Requests to end the process (SIGTERM), which a training answers by an end after its next step. */
export interface EndRequests {
  /** Whether the process was asked to end. */
  readonly isPending: boolean;
  /** From now on, the first request does not end the process. */
  accept(): void;
  /** From now on, requests end the process. */
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

interface Signals {
  once(signal: 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGTERM', listener: () => void): unknown;
}

/** The requests that reach a process. Browsers have none. */
export class ProcessEndRequests implements EndRequests {
  readonly #isPending: Int32Array;
  #isAccepted = false;

  /** @param isPending one number, 0 at first, which other threads may read */
  constructor(isPending: Int32Array = new Int32Array(1)) {
    this.#isPending = isPending;
  }

  get isPending(): boolean {
    return Atomics.load(this.#isPending, 0) !== 0;
  }

  accept(): void {
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    process()?.once('SIGTERM', this.#note);
  }

  refuse(): void {
    this.#isAccepted = false;
    process()?.off('SIGTERM', this.#note);
  }

  readonly #note = () => {
    Atomics.store(this.#isPending, 0, 1);
    log('warn', 'SIGTERM: the training ends after its next step; a second SIGTERM ends the process');
  };
}

const ofProcess = new ProcessEndRequests();

function process(): Signals | undefined {
  const host = globalThis as { process?: Partial<Signals> };
  return typeof host.process?.once === 'function' ? (host.process as Signals) : undefined;
}
