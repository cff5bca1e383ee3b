import type { CollectiveKind } from '@coll/core';
import type { Subject } from './subject.js';

/** The facts that a suite knows about a group before opening it. */
export interface Setting {
  readonly size: number;
  /** Number of members of the group; undefined if unknown. */
  readonly members: number | undefined;
  readonly kinds: readonly CollectiveKind[];
  /** The optional methods of `GroupMember` that members do not have. */
  readonly lacks: readonly ('crash' | 'reserve')[];
}

/**
 * A test of one property of an executor, for one group size and algorithm. Throws if the executor
 * does not have the property.
 */
export interface ExecutorCase {
  (subject: Subject): Promise<void>;
  /** Whether the case has anything to check in this setting. Default: always. */
  readonly appliesTo?: (setting: Setting) => boolean;
}

/** Cases by the name of their test. In the test's title, the name of the executor comes first. */
export type ExecutorCases = Readonly<Record<string, ExecutorCase>>;

/** Makes a case that is declared only in settings in which it has something to check. */
export function caseFor(
  appliesTo: (setting: Setting) => boolean,
  run: (subject: Subject) => Promise<void>,
): ExecutorCase {
  return Object.assign((subject: Subject) => run(subject), { appliesTo });
}

/**
 * Whether a group has several members, which then wait for each other. If the number of members is
 * unknown, every rank counts as a member.
 */
export const severalMembers = ({ size, members = size }: Setting): boolean => members > 1;
