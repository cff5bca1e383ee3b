import { NcclCommunicator } from '@coll/nccl';
import type { Step } from '../step.js';
import { storeAt, twoProcesses } from '../two-processes.js';

/** NCCL refuses two ranks of one host on one GPU. The error must contain its message. */
export const sameGpu: Step = {
  claim: "errors of the real library arrive, with NCCL's words",
  seconds: 60,
  async run() {
    const ended = await twoProcesses('same-gpu', ['coll-same', 'coll-same']);
    const messages = ended.map(({ error }) => error?.message ?? 'no error');
    if (ended.some(({ error }) => !error)) throw new Error(`both must be refused: ${messages.join('; ')}`);
    return { facts: { messages } };
  },
  async rank(rank, address) {
    const store = await storeAt(address);
    await NcclCommunicator.connect({ store, rank, size: 2 });
    return {};
  },
};
