import { type DType, type Tensor, zeros } from '@coll/core';
import { bufferLengths, inputBlocks } from '@coll/core/internal';
import { nameOf, reads, writes } from '@coll/core/plugin';
import { NcclCommunicator, probe } from '@coll/nccl';
import { collectives, contribution, expected, poisoned, requireSame } from '../expect.js';
import type { Step } from '../step.js';
import { bothFacts, storeAt, twoProcesses } from '../two-processes.js';

// Test doubles compute on the CPU, which is slow.
const bytesOf = () => [4, 1024, 2 ** 20, ...(probe().isDouble ? [] : [64 * 2 ** 20])];
const dtypes: readonly DType[] = ['float32', 'int32'];

/**
 * Two processes that NCCL treats as two hosts. They are real ranks, connected by loopback sockets, which
 * share one GPU in time slices.
 */
export const twoRanks: Step = {
  claim: 'two ranks exchange data by the real protocol, over loopback sockets; nothing about NVLink or speed',
  seconds: 120,
  run: async () => bothFacts(await twoProcesses('two-ranks')),
  async rank(rank, address) {
    await using store = await storeAt(address);
    await using communicator = await NcclCommunicator.connect({ store, rank, size: 2 });
    let checked = 0;
    for (const collective of collectives(1)) {
      for (const dtype of dtypes) {
        for (const size of bytesOf()) {
          const length = Math.max(2, size / 4);
          const inputs = [0, 1].map((peer) => contribution(peer, length, dtype));
          const lengths = bufferLengths(collective, length / inputBlocks(collective, 2), 2, rank);
          const input = reads(collective, rank) ? (inputs[rank] as Tensor) : zeros(dtype, [lengths.input]);
          const output = poisoned(collective, dtype, lengths.output);
          await communicator.run(collective, [input], [output], { timeoutSeconds: 60 });
          const what = `${nameOf(collective)} of ${length} elements of ${dtype} on rank ${rank}`;
          if (writes(collective, rank)) requireSame(what, output, expected(collective, inputs, rank));
          checked += 1;
        }
      }
    }
    return { checked };
  },
};
