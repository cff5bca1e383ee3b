import { requireCall } from '../collectives/buffers.js';
import { type Collective, writes } from '../collectives/collective.js';
import type { Communicator, Group, RunOptions, Segments } from '../collectives/communicator.js';
import { requireRunOptions } from '../collectives/run-options.js';
import { untilAllHaveEnded } from '../runtime/until-all-have-ended.js';
import { JoinedSegments } from '../threads/joined-segments.js';
import { checkedCall, isList, listOf, type SegmentList } from '../threads/segment-list.js';
import { allocate, type DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { Views } from './views.js';

/** Joined buffers. `separate` copies the results back to the caller's segments. */
interface Joined {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  separate(): void;
}

/**
 * Base of communicators whose engine needs each buffer in one tensor. The segments of an all-reduce
 * or reduce are copied into one buffer, whose memory is reused. The segments of a broadcast are
 * broadcast one by one.
 *
 * @example
 * ```ts
 * import { type Communicator, jsEngine, type Segments, tensor } from '@coll/core';
 * import { type Collective, JoiningCommunicator } from '@coll/core/plugin';
 * import { directAlgorithm } from '@coll/direct';
 *
 * class Wrapped extends JoiningCommunicator {
 *   readonly size = 2;
 *   readonly localRanks = [0, 1];
 *   readonly #inner: Communicator = jsEngine.communicator(2, directAlgorithm());
 *   readonly group = this.#inner.group;
 *   readonly refuses = this.#inner.refuses.bind(this.#inner);
 *   readonly close = this.#inner.close.bind(this.#inner);
 *   protected readonly runWhole = this.#inner.run.bind(this.#inner);
 *   protected readonly runWholeSync = this.#inner.runSync.bind(this.#inner);
 * }
 *
 * const buffers: Segments[] = [1, 2].map((value) => [tensor([value]), tensor([10 * value])]);
 * const collective: Collective = { kind: 'all-reduce', op: 'sum' };
 * await new Wrapped().run(collective, buffers, buffers);
 * console.log(buffers.flat().map(({ data }) => data[0])); // [ 3, 30, 3, 30 ]
 * ```
 */
export abstract class JoiningCommunicator implements Communicator {
  abstract readonly size: number;
  abstract readonly localRanks: readonly number[];
  abstract readonly group: Group;
  readonly #views = new Views();
  /** Memory that is free for reuse, by dtype. */
  readonly #free = new Map<DType, Tensor[]>();

  abstract refuses(collective: Collective, dtype: DType): string | undefined;
  abstract close(): Promise<void>;

  /** Like `run`; each buffer is a single tensor. */
  protected abstract runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): Promise<void>;

  /** Like `runSync`; each buffer is a single tensor. */
  protected abstract runWholeSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): void;

  async run(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): Promise<void> {
    if (options !== undefined) requireRunOptions(options);
    requireCall(collective, inputs, outputs);
    const whole = wholeOf(inputs, outputs);
    if (whole) return this.runWhole(collective, ...whole, options);
    const lists = this.#checked(collective, inputs, outputs, options);
    if (collective.kind === 'broadcast') {
      const runs = columnsOf(lists).map(([from, into]) => this.runWhole(collective, from, into, options));
      return untilAllHaveEnded(runs);
    }
    const joined = this.#join(collective, lists);
    await this.runWhole(collective, joined.inputs, joined.outputs, options);
    joined.separate();
  }

  runSync(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): void {
    if (options !== undefined) requireRunOptions(options);
    requireCall(collective, inputs, outputs);
    const whole = wholeOf(inputs, outputs);
    if (whole) {
      this.runWholeSync(collective, ...whole, options);
      return;
    }
    const lists = this.#checked(collective, inputs, outputs, options);
    if (collective.kind === 'broadcast') {
      for (const [from, into] of columnsOf(lists)) this.runWholeSync(collective, from, into, options);
      return;
    }
    const joined = this.#join(collective, lists);
    this.runWholeSync(collective, joined.inputs, joined.outputs, options);
    joined.separate();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @throws ValueError for segments that do not fit the collective or each other */
  #checked(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions = {},
  ): Lists {
    const { size, localRanks } = this;
    const lists = { inputs: inputs.map(listOf), outputs: outputs.map(listOf) };
    checkedCall({ collective, size, localRanks, ...lists }, options);
    return lists;
  }

  #join(collective: Collective, { inputs: from, outputs: into }: Lists): Joined {
    const taken: Tensor[] = [];
    const take = (like: SegmentList): Tensor => {
      const { length } = new JoinedSegments(like);
      const memory = this.#take(first(like).dtype, length);
      taken.push(memory);
      return { ...this.#views.of(memory, 0, length), device: first(like).device };
    };
    const inputs = from.map(take);
    inputs.forEach(({ data }, index) => {
      new JoinedSegments(from[index] as SegmentList).copyTo(data, 0, data.length);
    });
    const isShared = into.length > 1 && first(into[1] as SegmentList).data === first(first(into)).data;
    // An output shared by all ranks must not be memory that one of them reads.
    const isInPlace = !isShared && first(first(from)).dtype === first(first(into)).dtype;
    const results = isShared ? into.slice(0, 1) : into;
    const own = isInPlace ? inputs : results.map(take);
    const separate = () => {
      results.forEach((segments, index) => {
        if (!writes(collective, this.localRanks[index])) return;
        const { data } = own[index] as Tensor;
        new JoinedSegments(segments).copyFrom(data, 0, data.length);
      });
      for (const memory of taken) this.#giveBack(memory);
    };
    return { inputs, outputs: isShared ? into.map(() => first(own)) : own, separate };
  }

  #take(dtype: DType, length: number): Tensor {
    const free = this.#free.get(dtype) ?? [];
    const fitting = free.findIndex(({ data }) => data.length >= length);
    if (fitting >= 0) return free.splice(fitting, 1)[0] as Tensor;
    // Doubling bounds the memory wasted by outgrown buffers.
    const room = Math.max(length, 2 * Math.max(0, ...free.map(({ data }) => data.length)));
    return { data: allocate(dtype, room), dtype, shape: [room], device: '' };
  }

  #giveBack(memory: Tensor): void {
    const free = this.#free.get(memory.dtype);
    if (free) free.push(memory);
    else this.#free.set(memory.dtype, [memory]);
  }
}

type Buffers = readonly [inputs: readonly Tensor[], outputs: readonly Tensor[]];

interface Lists {
  readonly inputs: readonly SegmentList[];
  readonly outputs: readonly SegmentList[];
}

/** The buffers as single tensors; undefined if a buffer has several segments. */
function wholeOf(inputs: readonly Segments[], outputs: readonly Segments[]): Buffers | undefined {
  const buffers = [inputs, outputs] as const;
  if (!buffers.some((side) => side.some(isList))) return buffers as Buffers;
  const isOneEach = buffers.every((side) => side.every((buffer) => listOf(buffer).length === 1));
  return isOneEach ? [inputs.map(firstOf), outputs.map(firstOf)] : undefined;
}

function firstOf(buffer: Segments): Tensor {
  return first(listOf(buffer));
}

/** Groups buffers by segment: the first segments of all ranks, then the second ones, and so on. */
function columnsOf({ inputs, outputs }: Lists): Buffers[] {
  return first(inputs).map((_, segment) => {
    const at = (lists: readonly SegmentList[]) => lists.map((segments) => segments[segment] as Tensor);
    return [at(inputs), at(outputs)];
  });
}

function first<Item>(list: readonly Item[]): Item {
  return list[0] as Item;
}
