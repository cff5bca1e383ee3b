import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { CollError } from '@coll/core';
import { failThreadGroup } from '@coll/core/internal';
import { runInReplica, setOutside } from './contexts.js';
import { importModule } from './module-loading.js';
import { openPluginHome, type ThreadHome } from './plugin-home.js';
import { annotate } from './replica-error.js';
import type { ReplicaFunction } from './strategy.js';
import { encodeError } from './thread-errors.js';
import { type FromReplica, post, type ThreadStart, type WorkerHome } from './thread-messages.js';
import { ThreadReplicaContext } from './thread-replica-context.js';
import { decode, encode } from './thread-values.js';

/** The entry of a replica's worker thread: loads the plug-in and the user's module, and runs the module. */

const port = parentPort as MessagePort;
const start = workerData as ThreadStart;

async function main(): Promise<void> {
  const { replica, home } = start;
  await using opened = await ('plugin' in home ? openPluginHome(start, home) : workerHome(home));
  const { strategy, ops, defaults } = opened;
  const context = new ThreadReplicaContext({ replica, strategy, ops, port, defaults });
  // All code in this thread belongs to the replica, including callbacks that lose their
  // asynchronous context.
  setOutside({ strategy, replica: context });
  // Reports the error before the ops are closed, so that it arrives before the errors that it
  // causes in other replicas.
  await play(context).catch((error: unknown) => {
    tell(error);
    opened.fail?.(error);
  });
}

/** Imported only if needed, because this loads the code for several workers. */
async function workerHome(home: WorkerHome): Promise<ThreadHome> {
  const { openWorkerHome } = await import('./multi-worker/worker-home.js');
  return openWorkerHome(start, home);
}

async function play(context: ThreadReplicaContext): Promise<void> {
  const fn = await loadReplica(start);
  const args = decode(start.args) as readonly unknown[];
  const result = await runInReplica(context, () => fn(context, ...args));
  await context.settle();
  say({ type: 'result', value: encode(result) }, 'the result of a replica');
}

function tell(error: unknown): void {
  const annotated = annotate(error, start.firstReplica + start.replica);
  say({ type: 'error', error: encodeError(annotated) }, 'an error');
  failThreadGroup(start.group, start.replica, `failed: ${annotated.message}`);
}

/** Waits until the parent thread has received this thread's output. */
async function printed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))),
  );
}

function say(message: FromReplica, what: string): void {
  post(port, message, what);
}

async function loadReplica({ module, exportName }: ThreadStart): Promise<ReplicaFunction> {
  const exported = await importModule(module);
  const wanted = exportName === undefined ? ['default', 'replica'] : [exportName];
  const found = wanted.map((name) => exported[name]).find((value) => typeof value === 'function');
  if (found) return found as ReplicaFunction;
  throw new CollError(
    'ERR_COLL_MODULE',
    `${module} exports no function called ${wanted.join(' or ')}: export default async function (context, ...args)`,
  );
}

// An uncaught error would end the thread without its class and code.
process.on('uncaughtExceptionMonitor', (error) => {
  if (process.listenerCount('uncaughtException') === 0) tell(error);
});

void main()
  .catch(tell)
  .then(printed)
  .finally(() => {
    say({ type: 'end' }, 'the end');
    port.close();
  });
