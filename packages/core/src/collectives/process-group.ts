import type { Member } from '../members/member.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import type { Communicator } from './communicator.js';

/** How a pair of processes exchanges data, and why so. */
export interface Link {
  readonly rank: number;
  readonly transport: 'shared-memory' | 'tcp';
  /** What was tried and found, in words for the user. */
  readonly reason: string;
}

/**
 * One process among those that work together, on one host or several. All members issue the same collectives in the same order, over
 * all communicators of the group together.
 *
 * A group fails as a whole: once a member is lost, throws or disagrees, every collective that is under way or comes later fails on every member
 * with the same error. A failed group is closed; another one, of the next generation, can be opened in the same process.
 */
export interface ProcessGroup extends Member {
  /** Which of the groups of a job this is: each that is opened after a failure has a higher number. */
  readonly generation: number;
  /** The name of each rank's host. */
  readonly hosts: readonly string[];
  /** How this member reaches each of the others, in rank order. */
  readonly links: readonly Link[];

  /**
   * Plays an algorithm among all members; `localRanks` is this one. Closing the communicator leaves the group open.
   * @throws RuntimeError (ERR_COLL_CLOSED) once the group is closed
   */
  communicator(algorithm: Algorithm): Communicator;

  /** Ends the group for all members: collectives under way and later ones fail with an error that has this one's message. May be called again. */
  fail(error: unknown): void;

  /** Why the group has failed, for members that wait for something else meanwhile; undefined while it has not. Absent: only collectives tell. */
  failure?(): CollError | undefined;
}

/** @throws ValueError for what is no group, such as the promise of one, where there is something */
export function requireProcessGroup(group: unknown): void {
  if (group !== undefined) requireGivenGroup(group);
}

/** @throws ValueError for what is no group */
export function requireGivenGroup(group: unknown): asserts group is ProcessGroup {
  const { communicator, fail, rank, size } = Object(group) as Partial<ProcessGroup>;
  const isGroup = typeof communicator === 'function' && typeof fail === 'function';
  if (isGroup && Number.isInteger(rank) && Number.isInteger(size)) return;
  const wanted = 'a group of processes, as `await openProcessGroup()` of @coll/processes gives it';
  throw new ValueError('ERR_COLL_VALUE', `group is ${wanted}, not ${quote(group)}`);
}
