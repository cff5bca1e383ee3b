import { AbortedError, type Engine, failThreadGroup, RuntimeError, type ThreadGroup } from '@coll/core';
import { log, messageOf, ProcessEndRequests } from '@coll/core/internal';
import type { StrategyFigures } from '../choice/strategy-log.js';
import { host, openRecord } from '../host.js';
import type { Loading } from '../node/module-loading.js';
import { annotate } from '../replicas/replica-error.js';
import { onRecords, type RecordedRun, type RunOptions } from '../scope/run-options.js';
import { watchReplicas } from './replica-stalls.js';
import { type ReplicaListener, ReplicaWorker } from './replica-worker.js';
import { decodeError } from './thread-errors.js';
import type { ReplicaMessage, RunMessage, ThreadStart } from './thread-messages.js';
import { type OtherReplicas, ThreadRun } from './thread-run.js';
import { encodeArguments } from './thread-values.js';

/** The replicas of this process, and the environment of their threads. */
export interface ThreadSetting {
  readonly engine: Engine;
  readonly devices: readonly string[];
  readonly firstReplica: number;
  readonly setup: ThreadStart['setup'];
}

/** One run of a module as replicas. */
export interface Step {
  readonly module: URL;
  readonly argsOf: (replica: number) => readonly unknown[];
  readonly options: RunOptions & RecordedRun;
  /**
   * The replicas of other workers, which fail together with this worker's replicas. Default: none;
   * only then does this thread ask replicas that have ended to leave, and report all that wait.
   */
  readonly others?: OtherReplicas | undefined;
}

const lookMillis = 100;

// Threads with nothing left to do end by themselves; others are terminated after this time.
const graceMillis = { afterSuccess: 500, afterFailure: 200 };

/** The worker threads of all replicas of this process, which share a thread group for their collectives. */
export class ReplicaThreads implements ReplicaListener {
  /** Number of runs that have succeeded. */
  runs = 0;
  readonly #threads: ReplicaWorker[] = [];
  readonly #group: ThreadGroup;
  readonly #endRequests: ProcessEndRequests;
  readonly #firstReplica: number;
  readonly #loading: Loading;
  /** The modules of earlier runs. */
  readonly #modules = new Map<string, Loading>();
  #run: ThreadRun | undefined;
  /** What ended the threads. */
  #failure: { readonly error: unknown } | undefined;
  /** Whether the failure was thrown by a run or logged. */
  #isReported = false;
  #isEnding = false;

  /**
   * Starts the threads.
   * @param module the first module that they will run
   * @throws RuntimeError for options of the plug-in that cannot be posted; CollError for a module
   * that cannot be loaded in a thread
   */
  constructor({ engine, devices, firstReplica, setup }: ThreadSetting, module: URL) {
    const size = devices.length;
    this.#loading = host.loadingOf('plugin' in setup ? [module.href, setup.plugin.module] : [module.href]);
    this.#modules.set(module.href, this.#loading);
    openRecord();
    this.#group = engine.createGroup({ size });
    this.#firstReplica = firstReplica;
    const endRequests = new Int32Array(new SharedArrayBuffer(12));
    this.#endRequests = new ProcessEndRequests(endRequests);
    try {
      for (let replica = 0; replica < size; replica++) {
        const start = { replica, devices, firstReplica, group: this.#group, setup, endRequests };
        this.#threads.push(new ReplicaWorker(start, this.#loading, this));
      }
    } catch (error) {
      void this.end(graceMillis.afterFailure);
      throw error;
    }
  }

  /** What each replica has done, once the threads have ended. */
  get figures(): readonly StrategyFigures[] {
    return this.#threads.flatMap(({ figures }) => figures ?? []);
  }

  /** Whether the threads can make another run. */
  get isAlive(): boolean {
    return this.#failure === undefined && !this.#isEnding;
  }

  /**
   * Calls a function of a module in every thread. Only one run may be under way.
   * @throws the error of the first replica that fails, with its number; all threads have then
   * ended. The error of a thread that has failed since the latest run. What is refused before
   * anything was posted leaves the threads as they are: RuntimeError for arguments that cannot be
   * posted, ValueError for memory that cannot be moved, CollError for a module that cannot be
   * loaded in these threads
   */
  async run(step: Step): Promise<unknown[]> {
    if (this.#failure) return this.#ended(this.#failure.error, step);
    const { signal, onReport } = step.options;
    requireNotAborted(signal);
    const messages = this.#messagesOf(step);
    let hasFailed = false;
    const stopWatching = watchReplicas({
      firstReplica: this.#firstReplica,
      waiting: () => this.#run?.waiting,
      hasFailed: () => hasFailed,
    });
    const run = new ThreadRun({
      group: this.#group,
      firstReplica: this.#firstReplica,
      onReport,
      onRecords: step.options[onRecords],
      acceptEnd: () => this.#endRequests.accept(),
      others: step.others,
      tell: (replica, message, what) => this.#threads[replica]?.tell(message, what),
    });
    this.#run = run;
    const abort = () => run.abort(signal?.reason);
    signal?.addEventListener('abort', abort);
    const { others } = step;
    const look = setInterval(() => {
      if (others) failWith(others, run);
      run.askToLeave();
    }, lookMillis);
    try {
      this.#post(messages, run);
      const results = await run.results;
      await Promise.all(this.#threads.map((thread, replica) => thread.rest(run.printed[replica] ?? 0)));
      this.runs += 1;
      if (!run.canGoOn) await this.end(graceMillis.afterFailure);
      this.#run = undefined;
      return results;
    } catch (error) {
      hasFailed = true;
      return await this.#ended(error, step);
    } finally {
      stopWatching();
      this.#endRequests.refuse();
      clearInterval(look);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Ends all threads. Logs the error of a thread that has failed since the latest run. */
  async end(grace = graceMillis.afterSuccess): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#threads.map((thread) => thread.end(grace)));
    if (this.#failure && !this.#isReported)
      log('warn', `a thread failed after its latest run: ${messageOf(this.#failure.error)}`);
    this.#isReported = true;
  }

  message(replica: number, message: ReplicaMessage): void {
    if (this.#run) this.#run.message(replica, message);
    else if (message.type === 'error') this.#failBetweenRuns(replica, decodeError(message.error));
  }

  exit(replica: number, code: number, error: unknown): void {
    if (this.#run) this.#run.exit(replica, code, error);
    else if (!this.#isEnding) {
      const id = this.#firstReplica + replica;
      this.#failBetweenRuns(replica, error === undefined ? exited(id, code) : annotate(error, id));
    }
  }

  #post(messages: readonly Posting[], run: ThreadRun): void {
    try {
      for (const [replica, { message, moved }] of messages.entries()) this.#threads[replica]?.run(message, moved);
    } catch (error) {
      // Threads that already have their message must not wait for the others.
      run.fail(error);
    }
  }

  /** Ends all threads because of an error. @throws that error */
  async #ended(error: unknown, { others }: Step): Promise<never> {
    this.#failure ??= { error };
    this.#isReported = true;
    // Notifies other workers before threads are terminated, so that they receive this error and not
    // one about lost threads.
    others?.fail(error);
    await this.end(graceMillis.afterFailure);
    throw error;
  }

  #failBetweenRuns(replica: number, error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    failThreadGroup(this.#group, replica, `failed: ${messageOf(error)}`);
  }

  /** @throws the errors of `run` for arguments and modules, before anything is posted */
  #messagesOf({ module, argsOf, options }: Step): Posting[] {
    const { href } = module;
    const { tsx } = this.#loadingOf(href);
    const argsOfAll = encodeArguments(
      this.#threads.map((_, replica) => argsOf(replica)),
      options.transfer,
    );
    const isRecorded = options[onRecords] !== undefined;
    return argsOfAll.map(({ value: args, moved }) => ({
      message: { type: 'run', module: href, exportName: options.exportName, tsx, args, isRecorded },
      moved,
    }));
  }

  #loadingOf(module: string): Loading {
    const known = this.#modules.get(module);
    if (known) return known;
    const loading = host.loadingOf([module]);
    host.requireSameCopy(module, loading, this.#loading);
    this.#modules.set(module, loading);
    return loading;
  }
}

function failWith(others: OtherReplicas, run: ThreadRun): void {
  const failure = others.failure();
  if (failure) run.fail(failure);
}

interface Posting {
  readonly message: RunMessage;
  readonly moved: readonly ArrayBuffer[];
}

/** @throws AbortedError if the signal of a run is aborted before the run begins */
export function requireNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedBefore(signal);
}

export function abortedBefore({ reason }: AbortSignal): AbortedError {
  return new AbortedError('ERR_COLL_ABORTED', 'run was aborted before it began', { cause: reason });
}

function exited(id: number, code: number): RuntimeError {
  const message = `replica ${id}: its thread ended with exit code ${code} between two runs`;
  return new RuntimeError('ERR_COLL_REPLICA', message, { rank: id });
}
