import { NotImplementedError } from '@coll/core';
import { PageOwnThread } from './page/own-thread.js';
import { type OpenForWorkers, ReplicaThread } from './serve-replica.js';

/** The entry `replica-thread` for pages: the module of a replica imports it, and is the first module of its worker. */

const openForWorkers: OpenForWorkers = async () => {
  const message = 'replicas of several workers cannot run in a page';
  throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation: 'run' });
};

// Undefined in a page that imports a replica's module, and in a second copy of this module.
void PageOwnThread.find()?.then((thread) => new ReplicaThread(thread, openForWorkers).serve());
