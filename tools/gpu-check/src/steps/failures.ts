import { tensor } from '@coll/core';
import { NcclCommunicator } from '@coll/nccl';
import { amount } from '../arena.js';
import type { Step } from '../step.js';
import { storeAt, twoProcesses } from '../two-processes.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;
const graceSeconds = 20;

type Scenario = 'absent' | 'killed' | 'unlike';

/** Rank 1 misbehaves, and rank 0 must get an error in time. */
function failing(scenario: Scenario): Step {
  const step = `failure-${scenario}`;
  return {
    claim: `a rank that is ${scenario} ends the group of the other, in time and in words`,
    seconds: 60,
    async run() {
      const [waiting] = await twoProcesses(step);
      if (!waiting.facts) throw new Error(waiting.error?.message ?? 'rank 0 did not come back');
      return { facts: waiting.facts };
    },
    async rank(rank, address) {
      const store = await storeAt(address);
      const request = { store, rank, size: 2, checkCalls: scenario === 'unlike', lostAfterSeconds: 5 };
      const communicator = await NcclCommunicator.connect(request);
      const value = tensor(new Float32Array(rank === 1 && scenario === 'unlike' ? 3 : 2));
      if (scenario !== 'unlike') await communicator.run(sum, [value], [value]);
      if (rank === 1 && scenario === 'killed') process.kill(process.pid, 'SIGKILL');
      if (rank === 1 && scenario === 'absent')
        await new Promise((resolve) => setTimeout(resolve, amount(15_000, 4000)));
      const begin = performance.now();
      const timeoutSeconds = scenario === 'killed' ? 60 : amount(5, 1);
      const error = await communicator.run(sum, [value], [value], { timeoutSeconds }).then(
        () => undefined,
        (error: Error) => error,
      );
      const seconds = (performance.now() - begin) / 1000;
      if (!error) throw new Error('nothing was noticed');
      if (rank === 0 && seconds > timeoutSeconds + graceSeconds) throw new Error(`it took ${seconds} seconds`);
      await communicator.close();
      await store.close();
      return { seconds, message: `${error.name}: ${error.message}` };
    },
  };
}

export const absentRank = failing('absent');
export const killedRank = failing('killed');
export const unlikeRanks = failing('unlike');
