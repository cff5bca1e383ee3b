import { type Tensor, tensor } from '@coll/core';
import { type Gpu, gpus, NcclCommunicator } from '@coll/nccl';
import { atLeast } from '../expectation.js';
import { held, nothingLeft } from '../held.js';
import type { Step } from '../step.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;
const cycles = 1000;
const collectives = 10_000;

/** Opens and closes groups one after another, each with a collective. */
export const leaksOfGroups: Step = {
  claim: `${cycles} groups leave nothing behind on the GPU`,
  seconds: 180,
  async run(seconds) {
    // Fewer repetitions are enough if time is short.
    const end = performance.now() + 0.8 * seconds * 1000;
    const [gpu] = gpus() as [Gpu];
    using buffer = gpu.alloc('float32', 1024);
    await buffer.fill(1);
    const values = [buffer.tensor()];
    const cycle = async () => {
      await using communicator = await NcclCommunicator.open(['gpu:0']);
      await communicator.run(sum, values, values);
    };
    // The first groups create objects that later groups use again.
    for (let at = 0; at < 50; at++) await cycle();
    const before = await held(gpu);
    const begin = performance.now();
    let done = 0;
    for (; done < cycles && performance.now() < end; done++) await cycle();
    const millisecondsEach = (performance.now() - begin) / done;
    const expectations = [...(await nothingLeft(gpu, before)), atLeast(cycles, 'groups', 'opened and closed', done)];
    return { facts: { before, millisecondsEach }, expectations };
  },
};

/** Collectives of one group, a hundred at a time, on tensors of the GPU and of the host. */
export const leaksOfCollectives: Step = {
  claim: `${collectives} collectives leave nothing behind on the GPU`,
  seconds: 60,
  async run() {
    const [gpu] = gpus() as [Gpu];
    using buffer = gpu.alloc('float32', 1024);
    await buffer.fill(1);
    await using communicator = await NcclCommunicator.open(['gpu:0']);
    const onGpu = buffer.tensor();
    const hundred = (value: () => Tensor) =>
      Promise.all(
        Array.from({ length: 100 }, () => {
          const values = [value()];
          return communicator.run(sum, values, values);
        }),
      );
    const both = async () => {
      await hundred(() => onGpu);
      await hundred(() => tensor(new Float32Array(1024)));
    };
    await both();
    const before = await held(gpu);
    for (let done = 0; done < collectives; done += 200) await both();
    return { facts: { before, collectives }, expectations: await nothingLeft(gpu, before) };
  },
};
