import { CollError, failThreadGroup } from '@coll/core';
import { type OwnThread, setEndRequests, setLogOrigin, ThreadEndRequests, takeRunNote } from '@coll/core/internal';
import type { StrategyFigures } from './choice/strategy-log.js';
import { openRecord } from './host.js';
import type { Loading } from './node/module-loading.js';
import { annotate } from './replicas/replica-error.js';
import { setOutside } from './scope/contexts.js';
import type { ReplicaFunction } from './scope/strategy.js';
import { openPluginEnvironment, type ReplicaEnvironment } from './strategies/plugin-environment.js';
import { importModule } from './threads/import-module.js';
import { encodeError } from './threads/thread-errors.js';
import {
  type ClusterSetup,
  type FromReplica,
  post,
  type RunMessage,
  type ThreadStart,
  type ToReplica,
} from './threads/thread-messages.js';
import { ThreadReplicaContext } from './threads/thread-replica-context.js';
import { decode, encode } from './threads/thread-values.js';
import { RunRecorder } from './training/run-recorder.js';
import { trainingMeterOf } from './training/training-meter.js';

/** Opens the environment of a replica of several workers. */
export type OpenForWorkers = (start: ThreadStart, setup: ClusterSetup) => Promise<ReplicaEnvironment>;

/**
 * A replica's worker thread: loads the plug-in, and runs functions of the user's modules until the
 * parent thread closes it or a run fails.
 */
export class ReplicaThread {
  readonly #thread: OwnThread<Loading>;
  readonly #openForWorkers: OpenForWorkers;
  readonly #start: ThreadStart;
  /** The functions of earlier runs, by export name and module. */
  #figures: StrategyFigures | undefined;
  readonly #loaded = new Map<string, ReplicaFunction>();

  constructor(thread: OwnThread<Loading>, openForWorkers: OpenForWorkers) {
    this.#thread = thread;
    this.#openForWorkers = openForWorkers;
    this.#start = thread.data as ThreadStart;
    setLogOrigin({ rank: this.#start.firstReplica + this.#start.replica, isReplica: true });
    thread.label(this.#start.firstReplica + this.#start.replica);
    // An uncaught error would end the thread without its class and code.
    thread.onCrash((error) => this.#tell(error));
  }

  async serve(): Promise<void> {
    try {
      await this.#serve().catch((error: unknown) => this.#tell(error));
      await this.#thread.flush();
    } finally {
      this.#say({ type: 'end', figures: this.#figures }, 'the end');
      this.#thread.end();
    }
  }

  async #serve(): Promise<void> {
    const { replica } = this.#start;
    const port = this.#thread.channel;
    await using environment = await this.#open();
    const { strategy, ops, defaults } = environment;
    const context = new ThreadReplicaContext({ replica, strategy, ops, port, defaults });
    const askToAccept = () => this.#say({ type: 'acceptEnd' }, 'a message');
    setEndRequests(context, new ThreadEndRequests(this.#start.endRequests, askToAccept));
    // All code in this thread belongs to the replica, including callbacks that lose their
    // asynchronous context.
    setOutside({ strategy, replica: context });
    const keepFigures = () => {
      this.#figures = { ...environment.counts.figures, training: trainingMeterOf(context).totals };
    };
    await new Promise<void>((close) => {
      let latest = Promise.resolve();
      port.on('message', (message: ToReplica) => {
        if (message.type === 'close') void latest.then(keepFigures).then(close);
        if (message.type !== 'run' && message.type !== 'leave') return;
        latest = latest
          .then(() => (message.type === 'run' ? this.#run(context, message) : this.#leave(context)))
          // Reports the error before the ops are closed, so that it arrives before the errors that
          // it causes in other replicas.
          .catch((error: unknown) => {
            this.#tell(error);
            environment.fail?.(error);
            close();
          });
      });
    });
  }

  async #open(): Promise<ReplicaEnvironment> {
    const { firstReplica, replica, setup } = this.#start;
    openRecord({ threadName: `replica ${firstReplica + replica}` });
    return 'plugin' in setup ? openPluginEnvironment(this.#start, setup) : this.#openForWorkers(this.#start, setup);
  }

  async #run(context: ThreadReplicaContext, message: RunMessage): Promise<void> {
    const recorder = message.isRecorded ? this.#recorderOf(context) : undefined;
    const run = context.during(async () => {
      const fn = await this.#load(message);
      return fn(context, ...(decode(message.args) as readonly unknown[]));
    });
    const result = await run.finally(() => recorder?.stop());
    // The parent thread cannot see which replicas of other processes wait.
    const hasOthers = context.numReplicasInSync > this.#start.devices.length;
    const canGoOn = hasOthers ? await context.leave() : context.canGoOn;
    const { value, moved } = encode(result);
    const note = takeRunNote(context);
    const printed = this.#thread.printedBytes;
    this.#say({ type: 'result', value, canGoOn, printed, note }, 'the result of a replica', moved);
  }

  #recorderOf(context: ThreadReplicaContext): RunRecorder {
    return new RunRecorder(context, (rows) => this.#say({ type: 'records', rows }, 'a record'));
  }

  async #leave(context: ThreadReplicaContext): Promise<void> {
    this.#say({ type: 'left', canGoOn: await context.leave() }, 'the end of a run');
  }

  async #load({ module, exportName, tsx }: RunMessage): Promise<ReplicaFunction> {
    const key = `${exportName ?? ''} ${module}`;
    const known = this.#loaded.get(key);
    if (known) return known;
    await this.#thread.prepare({ module, tsx });
    const exported = await importModule(module);
    const wanted = exportName === undefined ? ['default', 'replica'] : [exportName];
    const found = wanted.map((name) => exported[name]).find((value) => typeof value === 'function');
    if (found) {
      this.#loaded.set(key, found as ReplicaFunction);
      return found as ReplicaFunction;
    }
    throw new CollError(
      'ERR_COLL_MODULE',
      `${module} exports no function called ${wanted.join(' or ')}: export default async function (context, ...args)`,
    );
  }

  #tell(error: unknown): void {
    const { group, replica, firstReplica } = this.#start;
    const annotated = annotate(error, firstReplica + replica);
    this.#say({ type: 'error', error: encodeError(annotated) }, 'an error');
    failThreadGroup(group, replica, `failed: ${annotated.message}`);
  }

  #say(message: FromReplica, what: string, moved?: readonly ArrayBuffer[]): void {
    post(this.#thread.channel, message, what, moved);
  }
}
