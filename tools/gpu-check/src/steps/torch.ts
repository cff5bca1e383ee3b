import { NcclCommunicator } from '@coll/nccl';
import { Arena, amount } from '../arena.js';
import { rounded } from '../expectation.js';
import { inTurn, ours } from '../in-turn.js';
import { OtherProgram } from '../other-program.js';
import type { Facts, Step } from '../step.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;

/**
 * Compares with PyTorch's all-reduce, which is in place. With one rank, it does nothing on the GPU, so only
 * the call is compared.
 */
export const torch: Step = {
  claim: "what a call costs beside torch.distributed, and in C; compared, not judged, as Python's own cost is in it",
  seconds: 60,
  isBenchmark: true,
  async run() {
    const mebibytes = amount(64, 1);
    await using inPyTorch = await OtherProgram.inPyTorch(mebibytes);
    await using inC = await OtherProgram.inC(mebibytes);
    using arena = await Arena.of(mebibytes);
    await using communicator = await NcclCommunicator.open(['gpu:0']);
    const here = ours((call, bytes) => {
      const values = [arena.into.view(arena.place(call, bytes) / 4, bytes / 4).tensor()];
      return communicator.run(sum, values, values);
    });
    const others = [inPyTorch, inC].map((program) => program.times.bind(program, 'all-reduce-in-place'));
    const rows: Facts[] = [];
    for (const isEach of [false, true]) {
      for (const bytes of amount([4, 2 ** 16, 2 ** 20, 2 ** 26], [4, 2 ** 16])) {
        const timing = { bytes, calls: amount(64, 4), repetitions: amount(5, 1), isEach };
        const [inTorch = 0, plain = 0, own = 0] = (await inTurn([...others, here], amount(6, 2), timing)).map(rounded);
        rows.push({ bytes, isEach, inPyTorch: inTorch, inC: plain, here: own });
      }
    }
    return { facts: { torch: inPyTorch.facts, nanoseconds: 'a call, medians', rows } };
  },
};
