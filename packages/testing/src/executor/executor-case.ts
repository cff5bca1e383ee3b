import type { CollectiveKind } from '@coll/core';
import type { Subject } from './subject.js';

/** What a suite knows of its groups before it opens one. */
export interface Setting {
  readonly size: number;
  /** Members of a group; undefined when unknown. */
  readonly members: number | undefined;
  readonly kinds: readonly CollectiveKind[];
  /** Optional methods that members do not have. */
  readonly lacks: readonly ('crash' | 'reserve')[];
}

/** A property that executors have, for one group size and algorithm. Fails by throwing. */
export interface ExecutorCase {
  (subject: Subject): Promise<void>;
  /** Whether there is anything to check. Default: yes. */
  readonly appliesTo?: (setting: Setting) => boolean;
}

/** Cases by the name of their test, which completes the name of the executor. */
export type ExecutorCases = Readonly<Record<string, ExecutorCase>>;

/** A case that is declared only where there is something to check. */
export function caseFor(
  appliesTo: (setting: Setting) => boolean,
  run: (subject: Subject) => Promise<void>,
): ExecutorCase {
  return Object.assign((subject: Subject) => run(subject), { appliesTo });
}

/** Groups in which members wait for each other. */
export const severalMembers = ({ size, members = size }: Setting): boolean => members > 1;
