import { GroupLog } from '../members/group-log.js';
import { LocalMembers } from '../members/local-members.js';
import type { Member } from '../members/member.js';
import { refusedMessages } from '../messages/refused-messages.js';
import { checkedResults, requireCheckResults } from '../runtime/checked-results.js';
import type { Engine, EngineRequest, ThreadGroup } from '../runtime/engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import { knownOptions } from '../support/known-options.js';
import { joinLogOrigin } from '../support/log-origin.js';
import { availableCores } from '../support/operating-system.js';
import { optionsOf } from '../support/options-of.js';
import { allRanks, oneRank } from '../support/ranks.js';
import { requireGroup } from '../threads/thread-group.js';
import { resolveEngine } from './engines.js';

/** Size, algorithm and engine of a group in one thread. */
export interface OpenMembersOptions {
  /** Number of members, all of them in this thread. */
  readonly size: number;
  /** The algorithm of the collectives, such as `ringAlgorithm()`. */
  readonly algorithm: Algorithm;
  /** The engine that executes the collectives. Default: `'auto'`, the fastest that works here. */
  readonly engine?: EngineRequest | undefined;
}

const openMembersOptions = knownOptions<OpenMembersOptions>('openMembers', {
  size: true,
  algorithm: true,
  engine: true,
});

/** This thread's rank and algorithm. */
export interface JoinThreadGroupOptions {
  /** Rank of this thread, from 0. Each rank of the group joins once, in its own thread. */
  readonly rank: number;
  /** The algorithm of the collectives. Must be the same for all members. */
  readonly algorithm: Algorithm;
  /**
   * 100: members compare a 64-bit hash of every 100th result that all of them get (of all-reduce,
   * broadcast and all-gather). Must be the same on all members. Default: 0, which compares nothing.
   */
  readonly checkResults?: number | undefined;
}

const joinThreadGroupOptions = knownOptions<JoinThreadGroupOptions>('joinThreadGroup', {
  rank: true,
  algorithm: true,
  checkResults: true,
});

/**
 * Opens a group whose members are all in this thread, for example one per device. A collective
 * begins when the last member has called it.
 * @throws ValueError for a size below 1; CollError (ERR_COLL_NO_ENGINE) if the engine cannot be
 * used
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm() });
 * const [, received] = await Promise.all([
 *   first?.send(1, new Float32Array([1, 2])),
 *   second?.receive(0, new Float32Array(2)),
 * ]);
 * console.log(received); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export function openMembers(options: OpenMembersOptions): readonly Member[] {
  const { size, algorithm, engine } = optionsOf(
    options,
    '{ size: 2, algorithm }',
    openMembersOptions,
  ) as OpenMembersOptions;
  const own = resolveEngine(engine).engine;
  const communicator = own.communicator(size, algorithm);
  const facts = { kind: 'members of one thread', members: size, transport: 'memory of the thread' } as const;
  const log = new GroupLog(0, { ...facts, ...executionOf(own, algorithm), coresPerMember: availableCores() / size });
  return new LocalMembers({ localRanks: allRanks(size), communicator: () => communicator, log }).members(
    size,
    algorithm,
  );
}

/**
 * Makes this thread a member of a group that `engine.createGroup` made and that was posted to this
 * thread. In Deno, `send`, `receive` and `split` of the member throw a ValueError (ERR_COLL_REFUSED).
 * @throws ValueError for anything but a group, and for a rank outside of it; CollError
 * (ERR_COLL_NO_ENGINE) if its engine cannot be used here
 *
 * @example
 * ```ts
 * import { joinThreadGroup, resolveEngine } from '@coll/core';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const group = resolveEngine('js').engine.createGroup({ size: 1 });
 * // The group goes to each worker in `workerData`, and the worker joins it:
 * const member = joinThreadGroup(group, { rank: 0, algorithm: ringAlgorithm() });
 * console.log(await member.allReduce('sum', new Float32Array([1]))); // Float32Array(1) [ 1 ]
 * await member.close();
 * ```
 */
export function joinThreadGroup(group: ThreadGroup, options: JoinThreadGroupOptions): Member {
  requireGroup(group);
  const request = optionsOf(options, '{ rank, algorithm }', joinThreadGroupOptions) as JoinThreadGroupOptions;
  const { engine } = resolveEngine(group.engine);
  const { checkResults = 0, ...joining } = request;
  requireCheckResults(checkResults);
  const communicator = checkedResults(engine.join(group, joining), checkResults);
  // In Deno, messages between worker threads did not always arrive, for an unknown reason.
  if ('Deno' in globalThis && communicator.group)
    Object.assign(communicator.group, refusedMessages('a group of threads in Deno'));
  const { rank, algorithm } = request;
  const { size } = group;
  const facts = {
    kind: 'threads',
    members: size,
    transport: 'shared memory',
    coresPerMember: availableCores() / size,
  } as const;
  joinLogOrigin(rank);
  const log = new GroupLog(rank, { ...facts, ...executionOf(engine, algorithm) });
  const local = new LocalMembers({ localRanks: oneRank(rank, size), communicator: () => communicator, log });
  const [member] = local.members(size, algorithm);
  return member as Member;
}

function executionOf({ name, simd }: Engine, algorithm: Algorithm) {
  return { engine: name, simd, algorithm: algorithm.name };
}
