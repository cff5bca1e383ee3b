import type { Communicator } from '../collectives/communicator.js';
import type { CollError } from '../support/errors.js';
import { RankNames } from './rank-names.js';

/** A group in which each rank stands for some ranks of a whole. */
export class Level extends RankNames {
  readonly communicator: Communicator;

  /** Like `RankNames`. */
  constructor(communicator: Communicator, begins: readonly number[], firsts?: readonly number[]) {
    super(begins, firsts);
    this.communicator = communicator;
  }

  /** Ends the group because of an error in ranks of the whole. */
  fail(error: CollError): void {
    this.communicator.group.fail(this.marked(error));
  }

  /** Whether some ranks of the group are remote, so that waits are possible. */
  get hasOthers(): boolean {
    const { localRanks, size } = this.communicator;
    return localRanks.length < size;
  }

  /** The group's failure, in ranks of the whole. */
  get failure(): CollError | undefined {
    const { failure } = this.communicator.group;
    return failure && (this.retold(failure) as CollError);
  }
}
