import { requireCall } from '../collectives/buffers.js';
import type { Collective } from '../collectives/collective.js';
import type { Communicator, Group, RunOptions, Segments } from '../runtime/communicator.js';
import { requireRunOptions } from '../runtime/run-options.js';
import { checkedCall, isList, listOf, type SegmentList } from '../runtime/segment-list.js';
import { untilAllHaveEnded } from '../runtime/until-all-have-ended.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { JoinedBuffers, type Lists } from './joined-buffers.js';

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
  readonly #joined = new JoinedBuffers();

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
    const { whole, lists } = this.#checked(collective, inputs, outputs, options);
    if (whole) return this.runWhole(collective, ...whole, options);
    if (collective.kind === 'broadcast') {
      const runs = columnsOf(lists).map(([from, into]) => this.runWhole(collective, from, into, options));
      return untilAllHaveEnded(runs);
    }
    const joined = this.#joined.join(collective, lists, this.localRanks);
    await this.runWhole(collective, joined.inputs, joined.outputs, options);
    joined.separate();
  }

  runSync(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): void {
    const { whole, lists } = this.#checked(collective, inputs, outputs, options);
    if (whole) {
      this.runWholeSync(collective, ...whole, options);
      return;
    }
    if (collective.kind === 'broadcast') {
      for (const [from, into] of columnsOf(lists)) this.runWholeSync(collective, from, into, options);
      return;
    }
    const joined = this.#joined.join(collective, lists, this.localRanks);
    this.runWholeSync(collective, joined.inputs, joined.outputs, options);
    joined.separate();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Counts a call that was refused before it began, if other callers make the calls of other ranks.
   * Returns the error.
   */
  protected refused(error: unknown): unknown {
    if (this.localRanks.length < this.size) this.group.order.refuse(error);
    return error;
  }

  /** The buffers as single tensors, or as lists of segments. @throws ValueError for segments that do not fit the collective or each other */
  #checked(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): CheckedBuffers {
    try {
      if (options !== undefined) requireRunOptions(options);
      requireCall(collective, inputs, outputs);
      const whole = wholeOf(inputs, outputs);
      if (whole) return { whole };
      const { size, localRanks } = this;
      const lists = { inputs: inputs.map(listOf), outputs: outputs.map(listOf) };
      checkedCall({ collective, size, localRanks, ...lists }, options ?? {});
      return { lists };
    } catch (error) {
      throw this.refused(error);
    }
  }
}

type CheckedBuffers =
  | { readonly whole: Buffers; readonly lists?: undefined }
  | { readonly whole?: undefined; readonly lists: Lists };

type Buffers = readonly [inputs: readonly Tensor[], outputs: readonly Tensor[]];

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
