import { RuntimeError } from '@coll/core';
import { log } from '@coll/core/internal';
import type { StrategyFigures } from '../choice/strategy-log.js';
import { withNote } from '../replicas/replica-error.js';
import { abortedBefore, type ReplicaThreads, requireNotAborted, type Step } from './replica-threads.js';

/** The threads of a strategy; undefined until the first run, and after a failure. */
interface Holder {
  threads: ReplicaThreads | undefined;
}

/**
 * The threads in which a strategy runs modules. They are started by the first run and kept for the
 * later ones: each replica stays in its thread, with the state of its modules. Runs take turns, in
 * the order of the calls.
 */
export class KeptThreads {
  readonly #start: (module: URL) => Promise<ReplicaThreads>;
  readonly #held: Holder = { threads: undefined };
  /** Settles when all runs so far have ended. */
  #latest: Promise<unknown> = Promise.resolve();
  /** Whether threads that had made a run have ended because of an error. */
  #hasLostState = false;
  #isClosed = false;

  /**
   * `start` starts threads for a first module. The threads must not refer to the strategy, so that
   * they end if it is collected.
   */
  constructor(start: (module: URL) => Promise<ReplicaThreads>) {
    this.#start = start;
    unclosed.register(this, this.#held, this);
  }

  /**
   * Runs a module when all earlier runs have ended.
   * @throws the errors of `ReplicaThreads.run`; AbortedError if the signal is aborted before the
   * run begins, which affects no other run; RuntimeError after `close`
   */
  async run(step: Step): Promise<unknown[]> {
    const { signal } = step.options;
    this.#requireOpen();
    requireNotAborted(signal);
    let hasBegun = false;
    const turn = this.#latest.then(() => {
      hasBegun = true;
      requireNotAborted(signal);
      return this.#take(step);
    });
    this.#latest = turn.catch(() => {});
    if (!signal) return turn;
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => {
        if (!hasBegun) reject(abortedBefore(signal));
      };
      signal.addEventListener('abort', abort);
    });
    return Promise.race([turn, aborted]).finally(() => signal.removeEventListener('abort', abort));
  }

  /**
   * Runs a module in threads of its own, which end with the run. Waits for no other run.
   * @throws the errors of `run`
   */
  async runOwn(step: Step): Promise<unknown[]> {
    this.#requireOpen();
    requireNotAborted(step.options.signal);
    const threads = await this.#start(step.module);
    try {
      return await threads.run(step);
    } finally {
      if (threads.isAlive) await threads.end();
    }
  }

  /**
   * Waits for all runs that were called before, and ends the threads. Later runs are refused. Returns
   * what each replica has done; nothing if no threads were left.
   */
  async close(): Promise<readonly StrategyFigures[]> {
    this.#isClosed = true;
    unclosed.unregister(this);
    await this.#latest;
    const { threads } = this.#held;
    this.#held.threads = undefined;
    await threads?.end();
    return threads?.figures ?? [];
  }

  async #take(step: Step): Promise<unknown[]> {
    this.#held.threads ??= await this.#start(step.module);
    const { threads } = this.#held;
    if (this.#hasLostState) log('warn', `run: new threads were started after an error, so ${stateIsLost}`);
    try {
      return await threads.run(step);
    } catch (error) {
      if (!threads.isAlive && threads.runs > 0)
        throw withNote(error, `; the threads of all replicas have ended, so ${stateIsLost}`);
      throw error;
    } finally {
      if (!threads.isAlive) this.#held.threads = undefined;
      this.#hasLostState = !threads.isAlive && threads.runs > 0;
    }
  }

  #requireOpen(): void {
    if (!this.#isClosed) return;
    const message = 'run: this strategy was closed; create a new one';
    throw new RuntimeError('ERR_COLL_CLOSED', message, { operation: 'run' });
  }
}

const stateIsLost = 'what their modules kept from earlier runs is lost';

// Ends the threads of strategies that are collected without being closed.
const unclosed = new FinalizationRegistry<Holder>(({ threads }) => void threads?.end());
