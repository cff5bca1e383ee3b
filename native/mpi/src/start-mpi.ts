import { isMainThread } from 'node:worker_threads';
import { CollError, RuntimeError } from '@coll/core';
import { log, messageOf } from '@coll/core/internal';
import { claimPmi, membershipFrom, processEnvironment } from '@coll/rendezvous/internal';
import { findBinding } from './binding.js';
import { errorFor } from './failures.js';
import type { Facts, MpiBinding } from './mpi-binding.js';
import { open } from './mpi-rank.js';
import { requireLauncher } from './require-launcher.js';

/** The MPI library of this machine, and whether it can be used. */
export interface MpiProbe {
  readonly available: boolean;
  /** If MPI is not available: an error message that says why, and what to do. */
  readonly reason: string | undefined;
  /** The binary interface: `Open MPI`, `MPICH` or `MPI 5.0`. */
  readonly abi: string | undefined;
  /** The first line of the library's version text. */
  readonly version: string | undefined;
  readonly path: string | undefined;
}

let probed: { readonly binding: MpiBinding; readonly facts: Facts } | { readonly failure: string } | undefined;

/**
 * Opens the MPI library of this machine, without starting MPI. `COLL_MPI_LIB` names another library.
 *
 * @example
 * ```ts
 * import { probe } from '@coll/mpi';
 *
 * const { available, reason, version } = probe();
 * console.log(available ? version : `no MPI: ${reason}`);
 * ```
 */
export function probe(): MpiProbe {
  const found = library();
  if ('failure' in found) {
    const none = { abi: undefined, version: undefined, path: undefined };
    return { available: false, reason: found.failure, ...none };
  }
  const { abi, version, path } = found.facts;
  return { available: true, reason: undefined, abi, version, path };
}

function library() {
  if (probed) return probed;
  const search = findBinding();
  if ('failure' in search) {
    probed = search;
    return probed;
  }
  const { binding } = search;
  try {
    probed = { binding, facts: binding.load(process.env['COLL_MPI_LIB'] ?? '') };
  } catch (error) {
    probed = { failure: messageOf(error) };
  }
  return probed;
}

/** MPI once it has been started. */
export interface StartedMpi {
  readonly binding: MpiBinding;
  readonly facts: Facts;
}

let started: Promise<StartedMpi> | undefined;

/**
 * Starts MPI, once per process.
 * @throws CollError (ERR_COLL_REFUSED) if there is no library, or the process group of another
 * package uses the launcher's PMI connection; RuntimeError (ERR_COLL_CLUSTER) if the library does
 * not belong to the launcher
 */
export function startMpi(): Promise<StartedMpi> {
  started ??= start();
  return started;
}

async function start(): Promise<StartedMpi> {
  const found = library();
  if ('failure' in found) throw new CollError('ERR_COLL_REFUSED', `mpi: ${found.failure}`);
  if (!claimPmi('mpi')) {
    const message = 'a process group of @coll/processes has met through the PMI connection of the launcher';
    const advice = 'which serves one user: import @coll/mpi/register before the first group opens, or do not start MPI';
    throw new CollError('ERR_COLL_REFUSED', `mpi: ${message}, ${advice}`);
  }
  const { binding } = found;
  if (isMainThread) {
    process.once('exit', (code) => end(binding, code));
  } else {
    requireStarted(binding.load(''));
    process.once('exit', leaveAll);
  }
  const facts = await binding.start().catch((error: unknown) => {
    throw errorFor(error, { operation: 'start' });
  });
  requireLauncher(facts, membershipFrom(processEnvironment()));
  const level = facts.rank === 0 ? 'info' : 'debug';
  log(level, `mpi: rank ${facts.rank} of ${facts.size}, ${facts.version} (${facts.path}, because ${facts.how})`);
  return { binding, facts };
}

/** MPI belongs to the main thread, whose exit ends it. @throws RuntimeError unless MPI has been started */
function requireStarted({ size }: Facts): void {
  if (size > 0) return;
  const message = 'a worker thread cannot start MPI: open a group in the main thread first';
  throw new RuntimeError('ERR_COLL_CONTEXT', `mpi: ${message}`, { operation: 'start' });
}

/** Leaves the groups of this thread. */
function leaveAll(code: number): void {
  for (const rank of open) {
    if (code !== 0) rank.queue.fail('failed', `ended with exit code ${code}`);
    else rank.close();
  }
}

// After a failure of a group, other ranks may never end MPI.
const secondsAfterFailure = 5;

function end(binding: MpiBinding, code: number): void {
  const hasFailed = [...open].some((rank) => rank.failure !== undefined);
  if (code !== 0) {
    // Other ranks that learned of it would end the job with a code of their own, before Node.js has printed an exception.
    binding.abortAtExit(code);
    return;
  }
  leaveAll(code);
  if (binding.finalize(hasFailed ? secondsAfterFailure : 0)) return;
  log('warn', 'mpi: a group has failed, and the other ranks do not end MPI: the job is aborted with code 1');
  binding.abortAtExit(1);
}
