import { PerReplica, ReduceOp, type Tensor, tensor } from '@coll/core';
import { type Gpu, gpus, NcclAllReduce, NcclCommunicator, toHost } from '@coll/nccl';
import type { Step } from '../step.js';
import { bothFacts, storeAt, twoProcesses } from '../two-processes.js';

const steps = 20;
const parameters = 1000;

/** The gradient of a square, towards a target of each rank's own. */
const gradientOf = (weights: Float32Array, rank: number) => weights.map((weight, index) => weight - (index % 7) - rank);

/** As one process does it with the gradients of all ranks. */
function reference(ranks: number): Float32Array {
  const weights = new Float32Array(parameters);
  for (let step = 0; step < steps; step++) {
    const gradients = Array.from({ length: ranks }, (_, rank) => gradientOf(weights, rank));
    weights.forEach((weight, index) => {
      const sum = gradients.reduce((total, gradient) => Math.fround(total + (gradient[index] as number)), 0);
      weights[index] = weight - 0.1 * Math.fround(sum / ranks);
    });
  }
  return weights;
}

function difference(weights: Float32Array, ranks: number): number {
  const wanted = reference(ranks);
  return Math.max(...weights.map((weight, index) => Math.abs(weight - (wanted[index] as number))));
}

function requireClose(found: number): number {
  if (found > 1e-5) throw new Error(`after ${steps} steps a weight differs by ${found} from training on the CPU`);
  return found;
}

/** Cross-device ops with one GPU, in its memory. */
export const trainingAlone: Step = {
  claim: `${steps} steps with NcclAllReduce on one GPU are as on the CPU`,
  seconds: 120,
  async run() {
    await using ops = new NcclAllReduce();
    const [gpu] = gpus() as [Gpu];
    const weights = new Float32Array(parameters);
    using gradient = gpu.alloc('float32', parameters);
    const value = new PerReplica([gradient]);
    for (let step = 0; step < steps; step++) {
      await gradient.write(gradientOf(weights, 0));
      const mean = await ops.reduce(ReduceOp.MEAN, value, value, { into: value });
      const { data } = await toHost(mean as Tensor);
      weights.forEach((weight, index) => {
        weights[index] = weight - 0.1 * (data[index] as number);
      });
    }
    return { largestDifference: requireClose(difference(weights, 1)) };
  },
};

/** Two processes on one GPU. */
export const trainingTogether: Step = {
  claim: `${steps} steps of two processes by NCCL are as on the CPU`,
  seconds: 240,
  run: async () => bothFacts(await twoProcesses('training-together')),
  async rank(rank, address) {
    await using store = await storeAt(address);
    await using communicator = await NcclCommunicator.connect({ store, rank, size: 2 });
    const weights = new Float32Array(parameters);
    for (let step = 0; step < steps; step++) {
      const gradient = tensor(gradientOf(weights, rank));
      await communicator.run({ kind: 'all-reduce', op: 'mean' }, [gradient], [gradient], { timeoutSeconds: 60 });
      weights.forEach((weight, index) => {
        weights[index] = weight - 0.1 * (gradient.data[index] as number);
      });
    }
    return { largestDifference: requireClose(difference(weights, 2)) };
  },
};
