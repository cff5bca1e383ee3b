import type { Communicator } from '../communicator.js';
import type { CollError } from '../errors.js';
import { RankNames } from './rank-names.js';

/** A group of which each rank stands for some ranks of a whole. */
export class Level extends RankNames {
  readonly communicator: Communicator;

  /** `begins` tells where in the whole those of each rank begin, and at last where they end. */
  constructor(communicator: Communicator, begins: readonly number[]) {
    super(begins);
    this.communicator = communicator;
  }

  /** Ends the group for an error that counts ranks of the whole. */
  fail(error: CollError): void {
    this.communicator.fail?.(this.marked(error));
  }
}
