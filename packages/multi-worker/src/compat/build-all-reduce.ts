import {
  type Collective,
  type Communicator,
  communicatorOf,
  hierarchical,
  type ReduceOp,
  type ReduceOpLike,
  registry,
  resolveEngine,
  type Tensor,
  ValueError,
  zeros,
} from '@coll/core';
import { quote, requireFunction, requireList, requireTensors } from '@coll/core/internal';
import { outputDType, reduceOpFrom, sameDevice } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import { hierarchicalAlgorithm } from '../hierarchical-algorithm.js';
import { recursiveHalvingDoublingAlgorithm } from '../recursive-halving-doubling-algorithm.js';
import { shuffleAlgorithm } from '../shuffle-algorithm.js';
import { inTasks } from '../workers.js';

/** A function that is applied to every result, on its device. */
export type UnaryOp = (tensor: Tensor) => Tensor;

/**
 * Combines all tensors around a ring. Returns one result per tensor, on its device, in the same
 * order. `gpuPerm` is the order in which the ring visits the devices of a worker. `redOp` defaults
 * to a sum; `unOp`, if given, is applied to every result.
 * @throws ValueError for fewer than 2 tensors, if dtypes or shapes differ, or if the number of
 * tensors does not fit the workers or sub-chunks
 *
 * @example
 * ```ts
 * import { tensor, toNumbers } from '@coll/core';
 * import { buildRingAllReduce } from '@coll/multi-worker';
 *
 * const tensors = ['gpu:0', 'gpu:1'].map((device, index) => tensor([index, 1], { device }));
 * const sums = await buildRingAllReduce(tensors, 1, 1, [0, 1]);
 * console.log(sums.map(toNumbers)); // [ [ 1, 2 ], [ 1, 2 ] ]
 * ```
 */
export async function buildRingAllReduce(
  tensors: readonly Tensor[],
  numWorkers: number,
  numSubchunks: number,
  gpuPerm: readonly number[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  requireTensors(tensors, 'tensors');
  if (tensors.length < 2) throw new ValueError('ERR_COLL_VALUE', 'a ring needs at least 2 tensors');
  const algorithm = ringAlgorithm({ workers: numWorkers, subChunks: numSubchunks, order: gpuPerm });
  return reduced(tensors, communicatorFor(tensors, algorithm), redOp, unOp);
}

/**
 * Combines all tensors by recursive halving and doubling. Returns one result per tensor, on its
 * device, in the same order. `redOp` defaults to a sum; `unOp`, if given, is applied to every
 * result.
 * @throws ValueError if the number of tensors is not a power of two, or dtypes or shapes differ
 *
 * @example
 * ```ts
 * import { tensor, toNumbers } from '@coll/core';
 * import { buildRecursiveHdAllReduce } from '@coll/multi-worker';
 *
 * const tensors = ['gpu:0', 'gpu:1'].map((device, index) => tensor([index, 1], { device }));
 * const sums = await buildRecursiveHdAllReduce(tensors);
 * console.log(sums.map(toNumbers)); // [ [ 1, 2 ], [ 1, 2 ] ]
 * ```
 */
export async function buildRecursiveHdAllReduce(
  tensors: readonly Tensor[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  requireAlike(tensors);
  return reduced(tensors, communicatorFor(tensors, recursiveHalvingDoublingAlgorithm()), redOp, unOp);
}

/**
 * Combines all tensors piece by piece, one piece on each of `gatherDevices`. Returns one result per
 * tensor, on its device, in the same order. If a gather device holds no tensor, a device that holds
 * one replaces it. `redOp` defaults to a sum; `unOp`, if given, is applied to every result.
 * @throws ValueError if there is no gather device, or dtypes or shapes differ
 *
 * @example
 * ```ts
 * import { tensor, toNumbers } from '@coll/core';
 * import { buildShuffleAllReduce } from '@coll/multi-worker';
 *
 * const tensors = ['gpu:0', 'gpu:1'].map((device, index) => tensor([index, 1], { device }));
 * const sums = await buildShuffleAllReduce(tensors, ['gpu:0']);
 * console.log(sums.map(toNumbers)); // [ [ 1, 2 ], [ 1, 2 ] ]
 * ```
 */
export async function buildShuffleAllReduce(
  tensors: readonly Tensor[],
  gatherDevices: readonly string[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  requireAlike(tensors);
  requireList(gatherDevices, 'gatherDevices');
  const gatherRanks = gatherDevices.map((device, index) => {
    const rank = tensors.findIndex((tensor) => sameDevice(tensor.device, device));
    return rank < 0 ? index % tensors.length : rank;
  });
  return reduced(tensors, communicatorFor(tensors, shuffleAlgorithm({ gatherRanks })), redOp, unOp);
}

/**
 * Combines all tensors with the plug-in registered as `nccl`. Returns one result per tensor, on its
 * device, in the same order. `redOp` must be a sum; `unOp`, if given, is applied to every result.
 * @throws ValueError for an op other than a sum, or if dtypes or shapes differ; CollError if no
 * `nccl` is registered
 *
 * @example
 * ```ts
 * import { registry, tensor } from '@coll/core';
 * import { buildNcclAllReduce } from '@coll/multi-worker';
 * import { nccl } from '@coll/nccl';
 *
 * registry.register(nccl);
 * const ones = new Float32Array([1, 1]);
 * const tensors = ['gpu:0', 'gpu:1'].map((device) => tensor(ones, { device }));
 * const sums = await buildNcclAllReduce(tensors);
 * console.log(sums[1]?.data); // Float32Array(2) [ 2, 2 ]
 * ```
 */
export async function buildNcclAllReduce(
  tensors: readonly Tensor[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  requireSum(redOp);
  requireAlike(tensors);
  return withNccl(tensors, (connect) => reduced(tensors, connect(tensors), redOp, unOp));
}

/**
 * Like `buildNcclAllReduce`, but NCCL combines within each task, and a ring across tasks. `subdiv`
 * must be 1 for several tasks.
 * @throws as `buildNcclAllReduce`; also ValueError for another `subdiv`
 *
 * @example
 * ```ts
 * import { registry, tensor } from '@coll/core';
 * import { buildNcclThenRing } from '@coll/multi-worker';
 * import { nccl } from '@coll/nccl';
 *
 * registry.register(nccl);
 * const ones = new Float32Array([1, 1]);
 * const tensors = ['gpu:0', 'gpu:1'].map((device) => tensor(ones, { device }));
 * const sums = await buildNcclThenRing(tensors, 1);
 * console.log(sums[1]?.data); // Float32Array(2) [ 2, 2 ]
 * ```
 */
export async function buildNcclThenRing(
  tensors: readonly Tensor[],
  subdiv: number,
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  return ncclThen(tensors, ringAcross(tensors, subdiv), redOp, unOp);
}

/**
 * Like `buildNcclAllReduce`, but NCCL combines within each task, and recursive halving and doubling
 * across tasks. The number of tasks must be a power of two.
 * @throws as `buildNcclAllReduce`; also ValueError for another number of tasks
 *
 * @example
 * ```ts
 * import { registry, tensor } from '@coll/core';
 * import { buildNcclThenRecursiveHd } from '@coll/multi-worker';
 * import { nccl } from '@coll/nccl';
 *
 * registry.register(nccl);
 * const ones = new Float32Array([1, 1]);
 * const tensors = ['gpu:0', 'gpu:1'].map((device) => tensor(ones, { device }));
 * const sums = await buildNcclThenRecursiveHd(tensors);
 * console.log(sums[1]?.data); // Float32Array(2) [ 2, 2 ]
 * ```
 */
export async function buildNcclThenRecursiveHd(
  tensors: readonly Tensor[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  return ncclThen(tensors, recursiveHalvingDoublingAlgorithm(), redOp, unOp);
}

/**
 * Like `buildNcclAllReduce`, but NCCL combines within each task, and a shuffle with one piece per
 * gather device across tasks.
 * @throws as `buildNcclAllReduce`; also ValueError if there is no gather device
 *
 * @example
 * ```ts
 * import { registry, tensor } from '@coll/core';
 * import { buildNcclThenShuffle } from '@coll/multi-worker';
 * import { nccl } from '@coll/nccl';
 *
 * registry.register(nccl);
 * const ones = new Float32Array([1, 1]);
 * const tensors = ['gpu:0', 'gpu:1'].map((device) => tensor(ones, { device }));
 * const sums = await buildNcclThenShuffle(tensors, ['gpu:0']);
 * console.log(sums[1]?.data); // Float32Array(2) [ 2, 2 ]
 * ```
 */
export async function buildNcclThenShuffle(
  tensors: readonly Tensor[],
  gatherDevices: readonly string[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  return ncclThen(tensors, shuffleAcross(tensors, gatherDevices), redOp, unOp);
}

/**
 * Combines each task's tensors on its gather device, then the results of all tasks around a ring.
 * Returns one result per tensor, on its device, in the same order. `redOp` defaults to a sum;
 * `unOp`, if given, is applied to every result.
 * @throws ValueError unless there is one gather device per task and all tasks have equally many
 * tensors, with equal dtypes and shapes
 *
 * @example
 * ```ts
 * import { tensor, toNumbers } from '@coll/core';
 * import { buildShuffleThenRing } from '@coll/multi-worker';
 *
 * const tasks = ['/job:worker/task:0', '/job:worker/task:1'];
 * const tensors = tasks.map((task, index) => tensor([index, 1], { device: `${task}/gpu:0` }));
 * const gatherDevices = tasks.map((task) => `${task}/cpu:0`);
 * const sums = await buildShuffleThenRing(tensors, gatherDevices, 1);
 * console.log(sums.map(toNumbers)); // [ [ 1, 2 ], [ 1, 2 ] ]
 * ```
 */
export async function buildShuffleThenRing(
  tensors: readonly Tensor[],
  gatherDevices: readonly string[],
  subdiv: number,
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  return shuffleThen(tensors, gatherDevices, ringAcross(tensors, subdiv), redOp, unOp);
}

/**
 * Like `buildShuffleThenRing`, but a shuffle with one piece per device of `secondGatherDevices`
 * combines the results of all tasks.
 * @throws as `buildShuffleThenRing`
 *
 * @example
 * ```ts
 * import { tensor, toNumbers } from '@coll/core';
 * import { buildShuffleThenShuffle } from '@coll/multi-worker';
 *
 * const tasks = ['/job:worker/task:0', '/job:worker/task:1'];
 * const tensors = tasks.map((task, index) => tensor([index, 1], { device: `${task}/gpu:0` }));
 * const gatherDevices = tasks.map((task) => `${task}/cpu:0`);
 * const sums = await buildShuffleThenShuffle(tensors, gatherDevices, ['/job:ps/task:0/cpu:0']);
 * console.log(sums.map(toNumbers)); // [ [ 1, 2 ], [ 1, 2 ] ]
 * ```
 */
export async function buildShuffleThenShuffle(
  tensors: readonly Tensor[],
  firstGatherDevices: readonly string[],
  secondGatherDevices: readonly string[],
  redOp: ReduceOpLike = 'sum',
  unOp?: UnaryOp,
): Promise<Tensor[]> {
  return shuffleThen(tensors, firstGatherDevices, shuffleAcross(tensors, secondGatherDevices), redOp, unOp);
}

function ringAcross(tensors: readonly Tensor[], subdiv: number): Algorithm {
  const { workers } = tasksOf(tensors);
  return ringAlgorithm({ workers, subChunks: workers === 1 ? 1 : subdiv });
}

function shuffleAcross(tensors: readonly Tensor[], gatherDevices: readonly string[]): Algorithm {
  const { workers } = tasksOf(tensors);
  requireList(gatherDevices, 'gatherDevices');
  return shuffleAlgorithm({ gatherRanks: gatherDevices.map((_, index) => index % workers) });
}

async function shuffleThen(
  tensors: readonly Tensor[],
  gatherDevices: readonly string[],
  across: Algorithm,
  redOp: ReduceOpLike,
  unOp: UnaryOp | undefined,
): Promise<Tensor[]> {
  const { workers, order } = tasksOf(tensors);
  requireList(gatherDevices, 'gatherDevices');
  if (gatherDevices.length !== workers) {
    const message = `gatherDevices must have one device for each of the ${workers} tasks, got ${gatherDevices.length}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  const algorithm = hierarchicalAlgorithm({ workers, within: reductionToOneAlgorithm(), across });
  return inOrder(tensors, order, (sorted) => reduced(sorted, communicatorFor(sorted, algorithm), redOp, unOp));
}

async function ncclThen(
  tensors: readonly Tensor[],
  across: Algorithm,
  redOp: ReduceOpLike,
  unOp: UnaryOp | undefined,
): Promise<Tensor[]> {
  requireSum(redOp);
  const { workers, order } = tasksOf(tensors);
  const perTask = tensors.length / workers;
  return withNccl(tensors, (connect) =>
    inOrder(tensors, order, (sorted) => {
      const within = Array.from({ length: workers }, (_, task) =>
        connect(sorted.slice(task * perTask, (task + 1) * perTask)),
      );
      const leaders = sorted.slice(0, workers);
      return reduced(sorted, hierarchical(within, communicatorFor(leaders, across)), redOp, unOp);
    }),
  );
}

/**
 * Calls `reduce` with the tensors grouped by task, and returns the results in the original order.
 */
async function inOrder(
  tensors: readonly Tensor[],
  order: readonly number[],
  reduce: (sorted: readonly Tensor[]) => Promise<Tensor[]>,
): Promise<Tensor[]> {
  const results = await reduce(order.map((index) => tensors[index] as Tensor));
  return tensors.map((_, index) => results[order.indexOf(index)] as Tensor);
}

function tasksOf(tensors: readonly Tensor[]) {
  requireAlike(tensors);
  return inTasks(tensors.map(({ device }) => device));
}

function communicatorFor(tensors: readonly Tensor[], algorithm: Algorithm): Communicator {
  return resolveEngine().engine.communicator(Math.max(1, tensors.length), algorithm);
}

async function withNccl(
  tensors: readonly Tensor[],
  reduce: (connect: (tensors: readonly Tensor[]) => Communicator) => Promise<Tensor[]>,
): Promise<Tensor[]> {
  const { plugin } = await registry.resolve('nccl', { devices: tensors.map(({ device }) => device) });
  await using nccl = await plugin.create(undefined);
  return await reduce((some) =>
    communicatorOf(
      nccl,
      some.map(({ device }) => device),
    ),
  );
}

async function reduced(
  tensors: readonly Tensor[],
  communicator: Communicator,
  redOp: ReduceOpLike,
  unOp: UnaryOp = (tensor) => tensor,
): Promise<Tensor[]> {
  await using parts = communicator;
  requireFunction(unOp, 'unOp');
  const collective: Collective = { kind: 'all-reduce', op: reduceOpFrom(redOp).toLowerCase() as Lowercase<ReduceOp> };
  const results = tensors.map(({ dtype, shape, device }) => zeros(outputDType(collective, dtype), shape, device));
  await parts.run(collective, tensors, results);
  return results.map(unOp);
}

function requireAlike(tensors: readonly Tensor[]): void {
  requireTensors(tensors, 'tensors');
  const [first, ...others] = tensors;
  if (!first) throw new ValueError('ERR_COLL_VALUE', 'the list of tensors to reduce must not be empty');
  const kindOf = ({ dtype, shape }: Tensor) => `${dtype} of shape [${shape}]`;
  const odd = others.find((other) => kindOf(other) !== kindOf(first));
  if (!odd) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `all tensors must have the same dtype and shape, got ${kindOf(first)} and ${kindOf(odd)}`,
  );
}

function requireSum(redOp: ReduceOpLike): void {
  if (reduceOpFrom(redOp) === 'SUM') return;
  throw new ValueError('ERR_COLL_VALUE', `the reduce op of an NCCL all-reduce must be sum, got ${quote(redOp)}`);
}
