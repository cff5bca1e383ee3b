import type { CollError, ProcessGroup } from '@coll/core';
import type { GroupExplanation } from './explanation.js';

/** A group opened by `openProcessGroup`. */
export interface OpenedProcessGroup extends ProcessGroup {
  /** How this group exchanges data, and why. */
  explain(): GroupExplanation;

  /**
   * The error with which the group has failed. Undefined if it has not failed, or once it is
   * closed.
   */
  failure(): CollError | undefined;
}
