import {
  accumulatorOf,
  type Collective,
  type CollectiveOp,
  collectiveKinds,
  collectiveOps,
  opOf,
  rootOf,
} from '../collectives/collective.js';
import { divideKernel, elementaryOp } from '../kernels/combine.js';
import { narrowKernel, widenKernel } from '../kernels/convert.js';
import type { Communicator } from '../runtime/communicator.js';
import { slice } from '../values/concatenate.js';
import { allocate, type DType, dtypes, isHalf, type TypedArray } from '../values/dtype.js';
import { hashOf } from '../values/layout.js';
import { copyElements, type Tensor } from '../values/tensor.js';
import type { Level } from './level.js';

/** A worker whose ranks are local. */
export interface WorkerPart {
  readonly level: Level;
  /** The first rank of the worker, numbered among all ranks. */
  readonly firstRank: number;
  /** Index of the worker's first buffer among the local buffers. */
  readonly begin: number;
}

/** The two levels of a group: the ranks within each worker, and the leaders (first ranks) of all workers. */
export interface Levels {
  readonly size: number;
  /** The first rank of each worker, followed by the number of all ranks. */
  readonly firsts: readonly number[];
  readonly within: readonly WorkerPart[];
  readonly across: Level;
}

/** The buffers of the local ranks. */
export interface HandedIn {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Whether all outputs share one memory. */
  readonly isShared: boolean;
}

/** A collective to run in one level, that is, within a worker or across workers. */
export interface Job {
  readonly level: Level;
  readonly collective: Collective;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Whether all outputs share one memory. */
  readonly isShared?: boolean;
}

/** Jobs (collectives within or across workers) that run concurrently. */
export interface Stage {
  readonly jobs: readonly Job[];
  /** A level with remote ranks that a later stage uses. If that level fails, the call ends early. */
  readonly later?: Level | undefined;
  /**
   * Whether this rank waits for a rank that may itself wait for remote ranks. This rank's timeout
   * is then longer, so that the other rank times out first and names the missing rank.
   */
  readonly isBehind?: boolean;
}

/** The stages of a call, in order: all jobs of a stage end before the next stage is requested. */
export type Stages = Generator<Stage, void, undefined>;

/** Copies from the first rank of a worker to all of its ranks. */
export const handOut: Collective = { kind: 'broadcast', root: 0 };

/** Scratch memory for each purpose, reused across calls. */
export class Scratch {
  readonly #kept = new Map<string, TypedArray>();

  take(purpose: string, dtype: DType, length: number): Tensor {
    const key = `${purpose} ${dtype}`;
    const kept = this.#kept.get(key);
    const data = kept && kept.length >= length ? kept : allocate(dtype, length);
    this.#kept.set(key, data);
    return slice({ data, dtype, shape: [data.length], device: '' }, 0, length);
  }
}

/**
 * Reduces within each worker, then across the leaders (the first ranks of the workers), and
 * broadcasts the result within each worker. Values stay in their accumulator until the end; a mean
 * is divided once, by the number of all ranks. Nothing is written to outputs until the leaders have
 * agreed.
 */
export function* allReduceStages(levels: Levels, op: CollectiveOp, handedIn: HandedIn, scratch: Scratch): Stages {
  const { within, across, size } = levels;
  const { inputs, outputs, isShared } = handedIn;
  const { dtype, data } = inputs[0] as Tensor;
  const wide = accumulatorOf(dtype, op);
  const base = elementaryOp(op);
  const room = (index: number) => scratch.take(`sum ${index}`, wide, data.length);
  const contributions = wide === dtype ? inputs : inputs.map((input, index) => widened(input, op, index, scratch));
  yield { jobs: within.flatMap((part) => reduction(part, base, ownOf(part, contributions), room)) };
  const sums = within.map(
    ({ level, begin }) => (level.communicator.size === 1 ? contributions[begin] : room(begin)) as Tensor,
  );
  // The leaders' sum cannot be written to the output if it is still to be rounded or divided. All
  // leaders have the same output if it is shared.
  const isIndirect = wide !== dtype || op === 'mean' || isShared;
  const totals = within.map(({ begin }) => (isIndirect ? room(begin) : outputs[begin]) as Tensor);
  yield { jobs: [{ level: across, collective: { kind: 'all-reduce', op: base }, inputs: sums, outputs: totals }] };
  const divisor = op === 'mean' ? size : undefined;
  within.forEach(({ begin }, index) => {
    if (index === 0 || !isShared) finish(totals[index] as Tensor, outputs[begin] as Tensor, divisor);
  });
  yield handingOut(within, handedIn);
}

/**
 * Broadcasts the root's value to the leaders (the first ranks of all workers), then from each
 * leader within its worker. If the root's worker is local, its leader sends the root's input.
 */
export function* broadcastStages({ firsts, within, across }: Levels, root: number, handedIn: HandedIn): Stages {
  const { inputs, outputs, isShared } = handedIn;
  const worker = firsts.findLastIndex((first) => first <= root);
  const given = within.map(({ firstRank, begin }) =>
    firstRank === firsts[worker] ? (inputs[begin + root - firstRank] as Tensor) : (outputs[begin] as Tensor),
  );
  const collective: Collective = { kind: 'broadcast', root: worker };
  const taken = within.map(({ begin }) => outputs[begin] as Tensor);
  yield { jobs: [{ level: across, collective, inputs: given, outputs: taken, isShared }] };
  yield handingOut(within, handedIn);
}

/**
 * Concatenates the values of each worker, all-gathers them across the leaders (the first ranks of
 * the workers), and broadcasts the result within each worker. All workers must have the same number
 * of ranks.
 */
export function* allGatherStages({ within, across }: Levels, handedIn: HandedIn, scratch: Scratch): Stages {
  const { inputs, outputs } = handedIn;
  const { dtype, data } = inputs[0] as Tensor;
  const blocks = within.map((part) => {
    const block = scratch.take(`block ${part.begin}`, dtype, data.length * part.level.communicator.size);
    for (const [local, input] of ownOf(part, inputs).entries()) copyElementsAt(block, local * data.length, input);
    return block;
  });
  const leaders = within.map(({ begin }) => outputs[begin] as Tensor);
  const collective: Collective = { kind: 'all-gather' };
  yield { jobs: [{ level: across, collective, inputs: blocks, outputs: leaders, isShared: handedIn.isShared }] };
  yield handingOut(within, handedIn);
}

/**
 * A hash of a request. All workers compare their hashes, because the collectives within and across
 * workers contain only parts of the request.
 */
export function requestOf(collective: Collective, dtype: DType, layout = 0): number {
  const op = collectiveOps.indexOf(opOf(collective) ?? 'sum');
  return hashOf([layout, collectiveKinds.indexOf(collective.kind), op, rootOf(collective) ?? 0, dtypes.indexOf(dtype)]);
}

/** Whether a worker can reduce to its leader (first rank) alone. If not, all ranks of the worker get the sum. */
export function reducesToLeader(communicator: Communicator, op: CollectiveOp, dtype: DType): boolean {
  return communicator.refuses({ kind: 'reduce', op, root: 0 }, dtype) === undefined;
}

function reduction(
  part: WorkerPart,
  op: CollectiveOp,
  inputs: readonly Tensor[],
  room: (index: number) => Tensor,
): Job[] {
  if (inputs.length === 1) return [];
  const { level } = part;
  const sum = room(part.begin);
  if (reducesToLeader(level.communicator, op, sum.dtype)) {
    // Only the root's output is written, so the other ranks can pass any tensor.
    return [{ level, collective: { kind: 'reduce', op, root: 0 }, inputs, outputs: [sum, ...inputs.slice(1)] }];
  }
  return [
    {
      level,
      collective: { kind: 'all-reduce', op },
      inputs,
      outputs: inputs.map((_, local) => room(part.begin + local)),
    },
  ];
}

/**
 * Broadcasts the output of each leader (the first rank of a worker) to the other ranks of its
 * worker, unless all outputs share one memory.
 */
function handingOut(within: readonly WorkerPart[], { outputs, isShared }: HandedIn): Stage {
  const several = within.filter(({ level }) => level.communicator.size > 1 && !isShared);
  const jobs = several.map((part): Job => {
    const own = ownOf(part, outputs);
    return { level: part.level, collective: handOut, inputs: own, outputs: own };
  });
  return { jobs };
}

function ownOf({ begin, level }: WorkerPart, buffers: readonly Tensor[]): readonly Tensor[] {
  return buffers.slice(begin, begin + level.communicator.size);
}

/** A copy of a contribution in its accumulator. */
export function widened(input: Tensor, op: CollectiveOp, index: number, scratch: Scratch): Tensor {
  const wide = scratch.take(`contribution ${index}`, accumulatorOf(input.dtype, op), input.data.length);
  widenKernel(input.dtype, op)(wide.data, 0, input.data, 0, input.data.length);
  return { ...wide, device: input.device };
}

/** Copies a sum to `into`: divided if `divisor` is given, and rounded if `into` holds 16-bit floats. */
export function finish(sum: Tensor, into: Tensor, divisor: number | undefined): void {
  const { length } = into.data;
  const isNarrow = isHalf(into.dtype);
  if (divisor !== undefined) {
    divideKernel(sum.dtype)(isNarrow ? sum.data : into.data, 0, sum.data, 0, length, divisor);
    if (!isNarrow) return;
  }
  if (isNarrow) narrowKernel(into.dtype)(into.data, 0, sum.data, 0, length);
  else if (sum !== into) copyElements(into.data, sum.data);
}

function copyElementsAt(into: Tensor, begin: number, { data }: Tensor): void {
  copyElements(slice(into, begin, begin + data.length).data, data);
}
