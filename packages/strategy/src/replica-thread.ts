import { CollError, failThreadGroup } from '@coll/core';
import { takeRunNote } from '@coll/core/internal';
import { host } from './host.js';
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
import type { WorkerSetup } from './workers/worker-messages.js';

/**
 * The entry of a replica's worker thread: loads the plug-in, and runs functions of the user's
 * modules until the parent thread closes it or a run fails.
 */

const thread = host.ownThread();
const start = thread.data as ThreadStart;
const port = thread.channel;

async function main(): Promise<void> {
  const { replica, setup } = start;
  await using environment = await ('plugin' in setup ? openPluginEnvironment(start, setup) : workerEnvironment(setup));
  const { strategy, ops, defaults } = environment;
  const context = new ThreadReplicaContext({ replica, strategy, ops, port, defaults });
  // All code in this thread belongs to the replica, including callbacks that lose their
  // asynchronous context.
  setOutside({ strategy, replica: context });
  await new Promise<void>((close) => {
    let latest = Promise.resolve();
    port.on('message', (message: ToReplica) => {
      if (message.type === 'close') void latest.then(close);
      if (message.type !== 'run' && message.type !== 'leave') return;
      latest = latest
        .then(() => (message.type === 'run' ? run(context, message) : leave(context)))
        // Reports the error before the ops are closed, so that it arrives before the errors that
        // it causes in other replicas.
        .catch((error: unknown) => {
          tell(error);
          environment.fail?.(error);
          close();
        });
    });
  });
}

/** Imported only if needed, because this loads the code for several workers. */
async function workerEnvironment(setup: ClusterSetup): Promise<ReplicaEnvironment> {
  const { openWorkerEnvironment } = await import('./workers/worker-environment.js');
  return openWorkerEnvironment(start, setup as WorkerSetup);
}

async function run(context: ThreadReplicaContext, message: RunMessage): Promise<void> {
  const result = await context.during(async () => {
    const fn = await loadReplica(message);
    return fn(context, ...(decode(message.args) as readonly unknown[]));
  });
  // The parent thread cannot see which replicas of other processes wait.
  const hasOthers = context.numReplicasInSync > start.devices.length;
  const canGoOn = hasOthers ? await context.leave() : context.canGoOn;
  const { value, moved } = encode(result);
  const note = takeRunNote(context);
  say({ type: 'result', value, canGoOn, printed: thread.printedBytes, note }, 'the result of a replica', moved);
}

async function leave(context: ThreadReplicaContext): Promise<void> {
  say({ type: 'left', canGoOn: await context.leave() }, 'the end of a run');
}

function tell(error: unknown): void {
  const annotated = annotate(error, start.firstReplica + start.replica);
  say({ type: 'error', error: encodeError(annotated) }, 'an error');
  failThreadGroup(start.group, start.replica, `failed: ${annotated.message}`);
}

function say(message: FromReplica, what: string, moved?: readonly ArrayBuffer[]): void {
  post(port, message, what, moved);
}

/** The functions of earlier runs, by export name and module. */
const loaded = new Map<string, ReplicaFunction>();

async function loadReplica({ module, exportName, tsx }: RunMessage): Promise<ReplicaFunction> {
  const key = `${exportName ?? ''} ${module}`;
  const known = loaded.get(key);
  if (known) return known;
  await thread.prepare({ tsx });
  const exported = await importModule(module);
  const wanted = exportName === undefined ? ['default', 'replica'] : [exportName];
  const found = wanted.map((name) => exported[name]).find((value) => typeof value === 'function');
  if (found) {
    loaded.set(key, found as ReplicaFunction);
    return found as ReplicaFunction;
  }
  throw new CollError(
    'ERR_COLL_MODULE',
    `${module} exports no function called ${wanted.join(' or ')}: export default async function (context, ...args)`,
  );
}

// An uncaught error would end the thread without its class and code.
thread.onCrash(tell);

void main()
  .catch(tell)
  .then(() => thread.flush())
  .finally(() => {
    say({ type: 'end' }, 'the end');
    thread.end();
  });
