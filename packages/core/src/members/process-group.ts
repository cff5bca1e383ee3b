import type { Communicator } from '../runtime/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import type { Member } from './member.js';

/**
 * How this process exchanges data with the process of rank `rank`, and the reason for this choice.
 */
export interface Link {
  readonly rank: number;
  readonly transport: 'shared-memory' | 'tcp' | 'mpi';
  /** Why this transport was chosen: the checks made and their results, as a phrase for the user. */
  readonly reason: string;
}

/**
 * One member of a group of processes, on one host or several. All members issue the same
 * collectives in the same order, over all communicators of the group together.
 *
 * A group fails as a whole. Once a member is lost, throws an error or makes a differing call, all
 * current and later collectives fail on every member with the same error. Close a failed group; the
 * same process can then open another one, with the next generation.
 */
export interface ProcessGroup extends Member {
  /** Number of this group within its job. Each group opened after a failure has a higher number. */
  readonly generation: number;
  /** The name of each rank's host. */
  readonly hosts: readonly string[];
  /** The links by which this member reaches the other members, in rank order. */
  readonly links: readonly Link[];
  /**
   * Name of the library that executes the collectives by algorithms of its own, such as `MPI`. The
   * group then ignores the algorithms that are passed. Undefined if the group executes them.
   */
  readonly executesBy?: string;

  /**
   * Runs `algorithm` across all members; `localRanks` is this member's rank. Closing the
   * communicator leaves the group open.
   * @throws RuntimeError (ERR_COLL_CLOSED) once the group is closed
   */
  communicator(algorithm: Algorithm): Communicator;

  /**
   * Ends the group for all members. Current and later collectives fail with an error whose message
   * contains the message of `error`. Idempotent.
   */
  fail(error: unknown): void;

  /**
   * The group's failure, for members that wait outside of collectives; undefined while the group
   * works. If the method is missing, only collectives report failures.
   */
  failure?(): CollError | undefined;
}

/** @throws ValueError unless `group` is a process group or undefined, for example if it is a promise of a group */
export function requireProcessGroup(group: unknown): void {
  if (group !== undefined) requireGivenGroup(group);
}

/** @throws ValueError unless `group` is a process group */
export function requireGivenGroup(group: unknown): asserts group is ProcessGroup {
  const { communicator, fail, rank, size } = Object(group) as Partial<ProcessGroup>;
  const isGroup = typeof communicator === 'function' && typeof fail === 'function';
  if (isGroup && Number.isInteger(rank) && Number.isInteger(size)) return;
  const wanted = 'a process group, the result of `await openProcessGroup()` of @coll/processes';
  throw new ValueError('ERR_COLL_VALUE', `group must be ${wanted}, got ${quote(group)}`);
}
