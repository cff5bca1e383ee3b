import { requireCall } from '../collectives/buffers.js';
import type { Collective } from '../collectives/collective.js';
import type { DType } from '../values/dtype.js';
import {
  type Communicator,
  type Group,
  type PersistentCollective,
  type RunOptions,
  requireCommunicator,
  type Segments,
} from './communicator.js';
import { requireRunOptions, setRunOptions } from './run-options.js';
import { checkedCall, listOf, type SegmentList } from './segment-list.js';

type Buffers = readonly Segments[];

/** A validated call of a communicator. */
export interface ForwardedCall {
  readonly collective: Collective;
  /** The segments of each local rank's input. */
  readonly inputs: readonly SegmentList[];
  /** The segments of each local rank's output. */
  readonly outputs: readonly SegmentList[];
  readonly options: RunOptions;
}

/** The call that a `ForwardingCommunicator` makes in place of another one. */
export interface ReplacementCall {
  /** Default: the collective of the replaced call. */
  readonly collective?: Collective | undefined;
  readonly inputs: readonly Segments[];
  readonly outputs: readonly Segments[];
  /** Default: the options of the replaced call, without `sharedResult`. */
  readonly options?: RunOptions | undefined;
  /** Called after the call has succeeded, to write the outputs of the replaced call. */
  finish?(): void;
}

/**
 * A communicator that passes its calls to another one. A subclass adds work before and after a call
 * by the method `replacement`, or overrides `run`, `runSync` and `persistent`. Closing it closes the
 * other communicator.
 *
 * @example
 * ```ts
 * import { type Communicator, jsEngine, tensor } from '@coll/core';
 * import { type ForwardedCall, ForwardingCommunicator, type ReplacementCall } from '@coll/core/plugin';
 * import { directAlgorithm } from '@coll/direct';
 *
 * // Sends the values of float64 all-reduces as float32.
 * class Narrowed extends ForwardingCommunicator {
 *   protected override replacement({ inputs, outputs, collective }: ForwardedCall): ReplacementCall | undefined {
 *     if (collective.kind !== 'all-reduce' || inputs[0]?.[0]?.dtype !== 'float64') return undefined;
 *     const narrow = inputs.map((segments) => segments.map(({ data }) => tensor(Float32Array.from(data as Float64Array))));
 *     const finish = () => {
 *       narrow.forEach((segments, rank) => {
 *         segments.forEach(({ data }, index) => (outputs[rank]?.[index]?.data as Float64Array).set(data as Float32Array));
 *       });
 *     };
 *     return { inputs: narrow, outputs: narrow, finish };
 *   }
 * }
 *
 * const engine: Communicator = jsEngine.communicator(2, directAlgorithm());
 * const buffers = [tensor([1 / 3]), tensor([0])];
 * await new Narrowed(engine).run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[1]?.data[0] === Math.fround(1 / 3)); // true
 * ```
 */
export class ForwardingCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  /** The communicator that gets the calls. */
  protected readonly inner: Communicator;

  /** @throws ValueError unless `inner` is a communicator */
  constructor(inner: Communicator) {
    requireCommunicator(inner, 'ForwardingCommunicator: inner');
    this.size = inner.size;
    this.localRanks = inner.localRanks;
    this.group = inner.group;
    this.inner = inner;
  }

  /**
   * Describes the call to make in place of `call`; undefined means `call` itself. All ranks must
   * decide alike, by the collective, dtypes, lengths and `values` alone. Runs when the call is
   * made, so that inputs must be complete by then: await the call that writes them. If the method is
   * missing, no call is replaced.
   */
  protected replacement?(call: ForwardedCall): ReplacementCall | undefined;

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.inner.refuses(collective, dtype);
  }

  run(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): Promise<void> {
    let made: ReplacementCall | undefined;
    try {
      made = this.#replaced(collective, inputs, outputs, options);
    } catch (error) {
      return Promise.reject(error);
    }
    if (!made) return this.inner.run(collective, inputs, outputs, options);
    const own = made.options ?? withoutSharing(options);
    const running = this.inner.run(made.collective ?? collective, made.inputs, made.outputs, own);
    return running.then(() => made.finish?.());
  }

  runSync(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): void {
    const made = this.#replaced(collective, inputs, outputs, options);
    if (!made) {
      this.inner.runSync(collective, inputs, outputs, options);
      return;
    }
    const own = made.options ?? withoutSharing(options);
    this.inner.runSync(made.collective ?? collective, made.inputs, made.outputs, own);
    made.finish?.();
  }

  /** Undefined if calls may be replaced. */
  persistent(
    collective: Collective,
    inputs: Buffers,
    outputs: Buffers,
    options?: RunOptions,
  ): PersistentCollective | undefined {
    return this.replacement ? undefined : this.inner.persistent?.(collective, inputs, outputs, options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @throws ValueError for an invalid call, which then counts as a refused call */
  #replaced(
    collective: Collective,
    inputs: Buffers,
    outputs: Buffers,
    options: RunOptions = {},
  ): ReplacementCall | undefined {
    if (!this.replacement) return undefined;
    try {
      requireRunOptions(options);
      requireCall(collective, inputs, outputs);
      const { size, localRanks } = this;
      const lists = { inputs: inputs.map(listOf), outputs: outputs.map(listOf) };
      checkedCall({ collective, size, localRanks, ...lists }, options);
      return this.replacement({ collective, ...lists, options });
    } catch (error) {
      if (this.localRanks.length < this.size) this.group.order.refuse(error);
      throw error;
    }
  }
}

/** The options of a call whose outputs are not one memory. */
function withoutSharing(options: RunOptions | undefined): RunOptions | undefined {
  return options?.sharedResult ? setRunOptions({ ...options, sharedResult: false }) : options;
}
