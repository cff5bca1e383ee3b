import { dtypes } from '@coll/core';
import { nameOf, outputLength } from '@coll/core/plugin';
import { type Gpu, gpus, NcclCommunicator, probe, toHost } from '@coll/nccl';
import { collectives, contribution, expected, poisoned, requireSame } from '../expect.js';
import type { Step } from '../step.js';

// Test doubles compute on the CPU, which is slow.
const countsOf = () => [0, 1, 3, 4097, ...(probe().isDouble ? [] : [2 ** 20 + 1])];

/** With one rank, NCCL only copies. This checks loading, dtype numbers and order, but no communication. */
export const oneRank: Step = {
  claim: 'ABI, streams and dtypes on the real library; nothing about communication',
  seconds: 90,
  async run() {
    const [gpu] = gpus() as [Gpu];
    const secondsToStart = await secondsOf(async () => {
      using first = gpu.alloc('int8', 1);
      await first.fill(0);
    });
    await using communicator = await NcclCommunicator.open(['gpu:0']);
    let checked = 0;
    const refused: string[] = [];
    for (const collective of collectives(0)) {
      for (const dtype of dtypes) {
        if (communicator.refuses(collective, dtype) !== undefined) {
          refused.push(`${nameOf(collective)} of ${dtype}`);
          continue;
        }
        for (const count of countsOf()) {
          const what = `${nameOf(collective)} of ${count} elements of ${dtype}`;
          const input = contribution(0, count, dtype);
          const wanted = expected(collective, [input], 0);
          const output = poisoned(collective, dtype, outputLength(collective, count, 1));
          await communicator.run(collective, [input], [output]);
          requireSame(`${what}, from and to the host`, output, wanted);
          using source = await gpu.upload(input.data, dtype);
          using result = await gpu.upload(poisoned(collective, dtype, output.data.length).data, output.dtype);
          await communicator.run(collective, [source.tensor()], [result.tensor()]);
          requireSame(`${what}, on the GPU`, await toHost(result.tensor()), wanted);
          if (wanted.dtype === dtype) {
            await communicator.run(collective, [source.tensor()], [source.tensor()]);
            requireSame(`${what}, in place`, await toHost(source.tensor()), wanted);
          }
          checked += 1;
        }
      }
    }
    return { facts: { secondsToStart, checked, refused } };
  },
};

/** The first operation creates the context, and the driver compiles our kernels unless it has cached them. */
async function secondsOf(run: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await run();
  return (performance.now() - begin) / 1000;
}
