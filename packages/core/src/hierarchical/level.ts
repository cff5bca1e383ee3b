import type { Communicator } from '../collectives/communicator.js';
import type { CollError } from '../support/errors.js';
import { RankNames } from './rank-names.js';

/** A group of which each rank stands for some ranks of a whole. */
export class Level extends RankNames {
  readonly communicator: Communicator;

  /** `begins` tells where in the whole those of each rank begin, and at last where they end. All are of `worker`; by default each rank is a worker. */
  constructor(communicator: Communicator, begins: readonly number[], worker?: number) {
    super(begins, worker);
    this.communicator = communicator;
  }

  /** Ends the group for an error that counts ranks of the whole. */
  fail(error: CollError): void {
    this.communicator.group.fail(this.marked(error));
  }

  /** Whether some ranks of the group are elsewhere, so that it can be waited for. */
  get hasOthers(): boolean {
    const { localRanks, size } = this.communicator;
    return localRanks.length < size;
  }

  /** Why the group has failed, in ranks of the whole. */
  get failure(): CollError | undefined {
    const { failure } = this.communicator.group;
    return failure && (this.retold(failure) as CollError);
  }
}
