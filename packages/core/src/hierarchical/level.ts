import type { Communicator } from '../runtime/communicator.js';
import type { CollError } from '../support/errors.js';
import { RankNames } from './rank-names.js';

/** A group whose ranks each represent a range of ranks of a larger group, the whole group. */
export class Level extends RankNames {
  readonly communicator: Communicator;

  /** Takes `begins` and `firsts` as `RankNames` does. */
  constructor(communicator: Communicator, begins: readonly number[], firsts?: readonly number[]) {
    super(begins, firsts);
    this.communicator = communicator;
    communicator.group.enclose?.(begins.at(-1) as number);
  }

  /**
   * Ends this group because of an error. Ranks in the error are those of the whole group, which
   * this group is a part of.
   */
  fail(error: CollError): void {
    this.communicator.group.fail(this.marked(error));
  }

  /** Whether some ranks of the group are remote, so that calls may have to wait. */
  get hasOthers(): boolean {
    const { localRanks, size } = this.communicator;
    return localRanks.length < size;
  }

  /** The failure of this group, with ranks numbered in the whole group; undefined while this group works. */
  get failure(): CollError | undefined {
    const { failure } = this.communicator.group;
    return failure && (this.translated(failure) as CollError);
  }
}
