import { ReplicaCollectives } from '../src/replicas/replica-collectives.js';
import type { RunOptions } from '../src/runtime/communicator.js';
import { drive, driveSync, type Work } from '../src/runtime/drive.js';

/** Collectives of a replica, and what drives them. */
export class DrivenCollectives extends ReplicaCollectives {
  run<Result>(work: Work<Result>, options?: RunOptions): Promise<Result> {
    return drive(work, options);
  }

  runSync<Result>(work: Work<Result>): Result {
    return driveSync('a call', work);
  }
}
