import { host } from './host.js';
import { type OpenForWorkers, ReplicaThread } from './serve-replica.js';
import type { WorkerSetup } from './workers/worker-messages.js';

/** The entry of a replica's worker thread. In a bundle, the replica's module imports this module. */

// Imported only if needed, because this loads the code for several workers.
const openForWorkers: OpenForWorkers = async (start, setup) => {
  const { openWorkerEnvironment } = await import('./workers/worker-environment.js');
  return openWorkerEnvironment(start, setup as WorkerSetup);
};

const thread = host.ownThread();
// Undefined in a program that imports a replica's module, and in a second copy of this module in a bundle.
if (thread) void new ReplicaThread(thread, openForWorkers).serve();
