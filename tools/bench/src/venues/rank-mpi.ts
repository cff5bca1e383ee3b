import { MpiCommunicator } from '@coll/mpi';
import { type Effort, measure } from '../measurement.js';
import { Buffers } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import type { Trial } from '../trial.js';

/** The trials of an MPI job's ranks, as JSON in their argument. */
export interface MpiOrder {
  readonly trials: readonly Trial[];
  readonly effort: Effort;
}

const { trials, effort } = JSON.parse(process.argv[2] as string) as MpiOrder;

await using communicator = await MpiCommunicator.open();
const buffers = new Buffers(communicator, 'ordinary');
for (const trial of trials) {
  const { samples } = await measure(collectiveSubject(communicator, buffers, trial), trial, effort);
  // A line as a peer's program prints it (peers/trial.h). A wrong result has thrown an error before.
  if (communicator.localRanks[0] === 0)
    process.stdout.write(`${JSON.stringify({ ok: true, samples: [...samples] })}\n`);
}
