import { zeros } from '@coll/core';
import { NcclCommunicator } from '@coll/nccl';
import { contribution, expected, requireSame } from '../expect.js';
import type { Step } from '../step.js';
import { bothFacts, storeAt, twoProcesses } from '../two-processes.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;

/** Splits, group calls, and two groups that share the GPU. */
export const groups: Step = {
  claim: 'splits, fifty collectives as one group call, two groups in an agreed order',
  seconds: 60,
  run: async () => bothFacts(await twoProcesses('groups')),
  async rank(rank, address) {
    await using store = await storeAt(address);
    const options = { timeoutSeconds: 60 };
    await using first = await NcclCommunicator.connect({ store, rank, size: 2, group: 'first' });
    await using second = await NcclCommunicator.connect({ store, rank, size: 2, group: 'second' });
    const many = Array.from({ length: 50 }, (_, index) => {
      const inputs = [0, 1].map((peer) => contribution(peer + index, 1 + index * 10, 'float32'));
      return { inputs, output: zeros('float32', [1 + index * 10]) };
    });
    const passages = many.map(({ inputs, output }) => ({
      collective: sum,
      inputs: [inputs[rank] as (typeof inputs)[number]],
      outputs: [output],
    }));
    await first.runTogether(passages, options);
    for (const { inputs, output } of many) requireSame('one of fifty', output, expected(sum, inputs, rank));
    for (let round = 0; round < 20; round++) {
      for (const group of [first, second]) {
        const inputs = [0, 1].map((peer) => contribution(peer + round, 1000, 'int64'));
        const output = zeros('int64', [1000]);
        await group.run(sum, [inputs[rank] as (typeof inputs)[number]], [output], options);
        requireSame(`round ${round}`, output, expected(sum, inputs, rank));
      }
    }
    const [half] = await first.split([rank]);
    const value = contribution(rank, 5, 'float64');
    await half?.communicator.run(sum, [value], [value], options);
    const [turned] = await first.split([0], [-rank]);
    const size = turned?.communicator.size;
    await turned?.communicator.close();
    await half?.communicator.close();
    return { size };
  },
};
