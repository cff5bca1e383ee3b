import type { CollError, ProcessGroup } from '@coll/core';
import type { GroupExplanation } from './explanation.js';

/** A group opened by `openProcessGroup`. */
export interface OpenedProcessGroup extends ProcessGroup {
  /** How this group exchanges data, and why. */
  explain(): GroupExplanation;

  /** The group's failure; undefined if there is none, or once the group is closed. */
  failure(): CollError | undefined;
}
