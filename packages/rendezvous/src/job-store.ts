import { createHash } from 'node:crypto';
import type { Store } from './store.js';
import { subStore } from './sub-store.js';

// Leaves most of a key's bytes to the keys of the job.
const mostJobBytes = 128;

/**
 * The part of a store that belongs to a job, so that several jobs can use the store one after the
 * other or at once. Long names of jobs are replaced by their hash. The job without a name uses the
 * store itself.
 */
export function jobStore(store: Store, job: string): Store {
  if (job === '') return store;
  const isShort = Buffer.byteLength(job) <= mostJobBytes;
  return subStore(store, `job/${isShort ? job : createHash('sha256').update(job).digest('hex')}`);
}
