import type { CollError, ProcessGroup } from '@coll/core';
import type { GroupExplanation } from './explanation.js';

/** A group as `openProcessGroup` opens it. */
export interface OpenedProcessGroup extends ProcessGroup {
  /** How this group exchanges data, and why so. */
  explain(): GroupExplanation;

  /** Why the group has failed; undefined while it has not, and once it is closed. */
  failure(): CollError | undefined;
}
