import type { FailureReason } from '../collectives/failures.js';
import { type ArenaMemory, createArenaMemory } from '../runtime/arena.js';
import { bytesOfDescriptors } from '../runtime/descriptors.js';
import type { EngineName, JoinRequest, ThreadGroup, ThreadGroupOptions } from '../runtime/engine.js';
import { CollError, ValueError } from '../support/errors.js';
import { knownOptions, requireKnownOptions } from '../support/known-options.js';
import { quote } from '../support/quote.js';
import { oneRank, requireSize } from '../support/ranks.js';
import { SharedBarrier } from './shared-barrier.js';
import { watchRanks } from './thread-watch.js';

const groupOptions = knownOptions<ThreadGroupOptions>('createGroup', { size: true, maxBytes: true, spins: true });

const joinRequest = knownOptions<JoinRequest & { readonly kernels: unknown; readonly engine: unknown }>('join', {
  rank: true,
  algorithm: true,
  kernels: true,
  engine: true,
});

/**
 * The shared state of a group of threads, for engines that build on it. It can be posted to worker
 * threads, each of which joins with its rank.
 * @throws ValueError for a size below 1, more memory than 2 GiB, or an invalid number of spins;
 * CollError without shared memory
 *
 * @example
 * ```ts
 * import { createThreadGroup } from '@coll/core/plugin';
 *
 * const { size, engine } = createThreadGroup({ size: 2 });
 * console.log(size, engine); // 2 js
 * ```
 */
export function createThreadGroup(options: ThreadGroupOptions): ThreadGroup {
  return threadGroupOf('js', createArenaMemory, options);
}

/** A group whose threads share the memory that `createMemory` creates. @throws as `createThreadGroup` */
export function threadGroupOf(
  engine: EngineName,
  createMemory: (maxBytes?: number) => ArenaMemory,
  options: ThreadGroupOptions,
): ThreadGroup {
  if (typeof options !== 'object' || options === null)
    throw new ValueError('ERR_COLL_VALUE', `createGroup takes an object { size }, got ${quote(options)}`);
  requireKnownOptions(options, groupOptions);
  const { size, maxBytes, spins = 20_000 } = options;
  requireSize(size);
  if (!(Number.isSafeInteger(spins) && spins >= 0))
    throw new ValueError('ERR_COLL_VALUE', `spins must be a number of polls, 0 or more, got ${quote(spins)}`);
  requireSharedMemory();
  return {
    engine,
    id: crypto.randomUUID(),
    size,
    spins,
    creator: watchRanks(),
    control: new SharedArrayBuffer(SharedBarrier.bytesFor(size)),
    descriptors: new SharedArrayBuffer(bytesOfDescriptors(size)),
    arena: createMemory(maxBytes),
  };
}

function requireSharedMemory(): void {
  if (typeof SharedArrayBuffer !== 'undefined') return;
  const headers = 'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp';
  throw new CollError(
    'ERR_COLL_NO_ENGINE',
    `a group of threads needs a SharedArrayBuffer, which this page does not have: serve it with the headers ${headers} ` +
      '(the guide "Train in a page" shows how), or keep all ranks in one thread, where the js engine works without shared memory',
  );
}

/** @throws ValueError unless `group` is a group of threads and `request` contains a rank and an algorithm */
export function requireJoin(group: unknown, request: unknown): void {
  requireGroup(group);
  if (typeof request !== 'object' || request === null)
    throw new ValueError('ERR_COLL_VALUE', `a rank must join with { rank, algorithm }, got ${quote(request)}`);
  requireKnownOptions(request, joinRequest);
}

/** @throws ValueError unless `group` is a group of threads */
export function requireGroup(group: unknown): asserts group is ThreadGroup {
  const { control, descriptors, arena } = Object(group) as Partial<ThreadGroup>;
  if (control?.byteLength && descriptors?.byteLength && arena) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `the group must be the result of engine.createGroup({ size }), got ${quote(group)}`,
  );
}

/**
 * Fails a group of threads, from any thread that has the group. Waiting and later calls of all
 * members throw `UnavailableError` (ERR_COLL_PEER_FAILED). Does nothing if the group has failed
 * already. A group whose creator runs in Node.js fails by itself if the thread of a member ends.
 * @param rank the member because of which the group fails
 * @param text completes a sentence whose subject is the rank, for the message of the errors
 * @param reason selects the class and code of the errors. Default: `'failed'`
 * @throws ValueError for anything but a group, and for a rank outside of it
 *
 * @example
 * ```ts
 * import { failThreadGroup, joinThreadGroup, jsEngine } from '@coll/core';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const group = jsEngine.createGroup({ size: 2 });
 * const member = joinThreadGroup(group, { rank: 0, algorithm: ringAlgorithm() });
 * const barrier = member.barrier();
 * failThreadGroup(group, 1, 'has no data');
 * console.log(await barrier.catch((error) => error.message)); // barrier: rank 1 has no data
 * await member.close();
 * ```
 */
export function failThreadGroup(
  group: ThreadGroup,
  rank: number,
  text: string,
  reason: FailureReason = 'failed',
): void {
  requireGroup(group);
  oneRank(rank, group.size);
  new SharedBarrier(group.control, group.size, 0).fail({ reason, rank, ranks: [], text });
}
