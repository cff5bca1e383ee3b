import '@coll/nccl/register';
import '@coll/direct/register';
import { CommunicationOptions, IndexedSlices, type Tensor, tensor } from '@coll/core';
import { bufferOf, flightRecorder, type Gpu, gpus, toHost } from '@coll/nccl';
import { MirroredStrategy, MultiWorkerMirroredStrategy, type Strategy } from '@coll/strategy';
import { requireSame } from '../expect.js';
import { atMost, type Expectation } from '../expectation.js';
import type { Step } from '../step.js';
import { bothFacts, twoProcesses } from '../two-processes.js';

const steps = 20;
const parameters = 1000;
const rate = 0.1;

/** The gradient of a square, whose target differs by replica. */
const gradientOf = (weights: Float32Array, replica: number) =>
  weights.map((weight, index) => weight - (index % 7) - replica);

/**
 * Trains by a strategy: every replica adds the mean of all gradients. `place` moves a gradient to the
 * memory of its replica.
 * @returns the weights of this process's first replica
 */
async function trained(strategy: Strategy, place: (gradient: Float32Array) => Promise<Tensor>): Promise<Float32Array> {
  const results = await strategy.run(async (replica) => {
    const weights = new Float32Array(parameters);
    for (let step = 0; step < steps; step++) {
      const gradient = await place(gradientOf(weights, replica.replicaIdInSyncGroup));
      const reduced = (await replica.allReduce('mean', gradient)) as Tensor;
      const mean = (await toHost(reduced)).data;
      for (const value of [gradient, reduced]) if (value.memory) bufferOf(value).dispose();
      weights.forEach((weight, index) => {
        weights[index] = weight - rate * (mean[index] as number);
      });
    }
    return { weights: tensor(weights) };
  });
  const [own] = strategy.experimentalLocalResults(results) as [{ readonly weights: Tensor }];
  return own.weights.data as Float32Array;
}

/** The same training on CPUs, in one process. */
async function onCpu(replicas: number): Promise<Float32Array> {
  const devices = Array.from({ length: replicas }, (_, index) => `cpu:${index}`);
  await using strategy = new MirroredStrategy({ devices, crossDeviceOps: 'direct' });
  return await trained(strategy, onHost);
}

async function judged(weights: Float32Array, replicas: number, what: string): Promise<Expectation> {
  const wanted = await onCpu(replicas);
  const largest = Math.max(...weights.map((weight, index) => Math.abs(weight - (wanted[index] as number))));
  const words = `gradients ${what}, largest difference to ${replicas} on the CPU after ${steps} steps`;
  return atMost(1e-5, 'in weights up to 7', words, largest);
}

/**
 * How often the GPU executed something in this process: other engines would compute the same weights.
 * @throws Error if it was too rarely
 */
function countOf(wanted: string, least: number): number {
  const found = flightRecorder().filter(({ operation, state }) => operation === wanted && state === 'done').length;
  if (found < least) throw new Error(`of ${least} times "${wanted}" the GPU has done ${found}`);
  return found;
}

/** The results of a worker. */
type Found = {
  readonly differences: readonly Expectation[];
  readonly allReducesOfNccl: number;
  readonly joinedByNccl: number;
  readonly notes: readonly string[];
};

/** Checks that gathers of different lengths, and slices, are joined on the GPU. @throws Error if they are not */
async function requireJoined(strategy: Strategy): Promise<void> {
  await strategy.run(async (replica) => {
    const { replicaIdInSyncGroup: id } = replica;
    const rows = (of: number) => new Float32Array(1000 * (of + 1)).fill(of + 1);
    const own = await onGpu(rows(id));
    const gathered = (await replica.allGather(own, 0)) as Tensor;
    const all = tensor(Float32Array.of(...rows(0), ...rows(1)));
    requireSame('parts of other lengths', await toHost(gathered), all);
    const indices = (await (gpus()[0] as Gpu).upload(new Int32Array(1000 * (id + 1)).fill(id), 'int32')).tensor();
    const sum = (await replica.allReduce('sum', new IndexedSlices(own, indices))) as IndexedSlices;
    requireSame('rows of slices', await toHost(sum.values), all);
    for (const value of [own, gathered, indices, sum.values, sum.indices]) bufferOf(value).dispose();
  });
}

const onHost = async (gradient: Float32Array) => tensor(gradient);
const onGpu = async (gradient: Float32Array) => (await (gpus()[0] as Gpu).upload(gradient, 'float32')).tensor();

/** One replica, whose gradients are on the GPU. It has nothing to add, so they are copied there. */
export const mirrored: Step = {
  claim: 'MirroredStrategy on gpu:0 trains as on a CPU; with one replica nothing is communicated',
  seconds: 60,
  async run() {
    await using strategy = new MirroredStrategy({ devices: ['gpu:0'], crossDeviceOps: 'nccl' });
    const expectations = [await judged(await trained(strategy, onGpu), 1, 'on the GPU')];
    return { facts: { copiesOnGpu: countOf('copy', steps) }, expectations };
  },
};

/** Two processes on one GPU, with gradients on the GPU and on the host. */
export const multiWorker: Step = {
  claim: 'MultiWorkerMirroredStrategy on two ranks of one GPU trains as on two CPUs, and joins parts and slices',
  seconds: 60,
  async run() {
    const both = await twoProcesses('multi-worker');
    const expectations = both.flatMap(({ facts }, rank) =>
      ((facts as Partial<Found> | undefined)?.differences ?? []).map((due) => ({
        ...due,
        what: `rank ${rank}, ${due.what}`,
      })),
    );
    return { ...bothFacts(both), expectations };
  },
  async rank() {
    await using strategy = new MultiWorkerMirroredStrategy({
      devices: ['gpu:0'],
      communicationOptions: new CommunicationOptions({ implementation: 'NCCL', timeoutSeconds: 30 }),
      startupTimeoutSeconds: 30,
    });
    await strategy.ready();
    const differences = [
      await judged(await trained(strategy, onGpu), 2, 'on the GPU'),
      await judged(await trained(strategy, onHost), 2, 'of the host'),
    ];
    const allReducesOfNccl = countOf('all-reduce', 2 * steps);
    await requireJoined(strategy);
    const { notes } = await strategy.explain();
    return { differences, allReducesOfNccl, joinedByNccl: countOf('group of collectives', 2), notes } satisfies Found;
  },
};
