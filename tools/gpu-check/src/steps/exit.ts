import { tensor } from '@coll/core';
import { flightRecorder, NcclCommunicator } from '@coll/nccl';
import { amount } from '../arena.js';
import { atMost } from '../expectation.js';
import type { Step } from '../step.js';
import { factsOf, storeAt, twoProcesses } from '../two-processes.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;

/** A process must exit even if a collective never ends. CUDA is torn down at exit. */
export const exit: Step = {
  claim: 'a process that exits in a collective that never ends is gone at once',
  seconds: 60,
  async run() {
    const [leaving, other] = await twoProcesses('exit');
    const facts = { rank0: factsOf('rank 0', leaving), rank1: factsOf('rank 1', other), exit: leaving.exit };
    if (leaving.exit?.code !== 0) throw new Error(`rank 0 ended with exit code ${leaving.exit?.code}, not 0`);
    return { facts, expectations: [atMost(3, 's', 'from exit() to the end of the process', leaving.exit.seconds)] };
  },
  async rank(rank, address) {
    const store = await storeAt(address);
    const communicator = await NcclCommunicator.connect({ store, rank, size: 2 });
    const value = tensor(new Float32Array(1024));
    await communicator.run(sum, [value], [value]);
    if (rank === 1) {
      await new Promise((resolve) => setTimeout(resolve, amount(10_000, 2000)));
      return {};
    }
    void communicator.run(sum, [value], [value]).catch(() => undefined);
    const isLaunched = () => flightRecorder().some(({ group, state }) => group !== '' && state === 'launched');
    while (!isLaunched()) await new Promise((resolve) => setTimeout(resolve, 5));
    // This process exits after its report, while the collective is still running.
    return { launched: true };
  },
};
