import type { Communicator, RunOptions } from '../src/communicator.js';
import { ReplicaCollectives, type ReplicaRouting } from '../src/replicas/replica-collectives.js';
import { drive, driveSync, type Work } from '../src/runtime/drive.js';

/** Collectives of a replica together with the communicator that runs them. */
export class DrivenCollectives extends ReplicaCollectives {
  readonly #communicator: Communicator;

  constructor(communicator: Communicator, routing?: ReplicaRouting) {
    super(communicator, routing);
    this.#communicator = communicator;
  }

  run<Result>(work: Work<Result>, options?: RunOptions): Promise<Result> {
    return drive(this.#communicator, work, options);
  }

  runSync<Result>(work: Work<Result>): Result {
    return driveSync(this.#communicator, work);
  }
}
