import type { Algorithm, Collective, DType, Group, RunOptions } from '@coll/core';
import { ControllerCommunicator, ControllerGroup, recordedCommunicator } from '@coll/core/internal';
import { type CheckedCall, clashError, operationOf, type PreparedCall, reads, writes } from '@coll/core/plugin';
import { calibration } from './calibration.js';
import type { Clash, ControllerHandle, OffersHandle } from './handles.js';
import { helperThreads } from './machine/index.js';
import type { NativeBinding } from './native-binding.js';
import { noMessages, Programs } from './programs.js';
import { SpareHandles } from './spare-handles.js';
import { listOf } from './thresholds.js';

interface PreparedOffers {
  readonly handle: OffersHandle;
  readonly length: number;
}

/**
 * A group with all its ranks in one thread. C++ folds their buffers on the calling thread and on
 * helper threads on other cores.
 */
export class NativeCommunicator extends ControllerCommunicator<PreparedOffers> {
  readonly group: Group;
  readonly #binding: NativeBinding;
  readonly #controller: ControllerHandle;
  readonly #programs: Programs;
  readonly #spares = new SpareHandles<OffersHandle>();

  /** @throws ValueError for a size below 1 */
  constructor(binding: NativeBinding, size: number, algorithm: Algorithm, group?: Group) {
    super(size);
    this.#binding = binding;
    this.#controller = binding.controller(size, helperThreads(), listOf(calibration(binding).thresholds));
    this.#programs = new Programs(binding, algorithm, size, noMessages);
    const communicator = (other: Algorithm, own: Group) => new NativeCommunicator(binding, size, other, own);
    const ofSize = (ranks: number, other: Algorithm) => new NativeCommunicator(binding, ranks, other);
    this.group = group ?? new ControllerGroup({ communicator, ofSize, recorded: { engine: 'native', size } });
    this.recorded = recordedCommunicator(this.group, algorithm.name, 'engine');
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  protected prepare(call: CheckedCall, isKept: boolean): PreparedOffers {
    const { collective, begins, length, dtype, isShared, inputs, outputs } = call;
    const offering = [
      this.#programs.find(collective, dtype).handle,
      begins,
      inputs.map((pieces, rank) => (reads(collective, rank) ? pieces.map(({ data }) => data) : [])),
      outputs.map((pieces, rank) => (writes(collective, rank) ? pieces.map(({ data }) => data) : [])),
      isShared,
    ] as const;
    const spare = isKept ? undefined : this.#spares.take();
    const made = spare
      ? (this.#binding.refillOffersOfAll(spare, ...offering) ?? spare)
      : this.#binding.offersOfAll(...offering);
    if (Array.isArray(made)) throw clashError(operationOf(call), ...(made as Clash));
    return { handle: made as OffersHandle, length };
  }

  protected override recycle({ handle }: PreparedOffers): void {
    this.#spares.add(handle);
  }

  protected endOf({ length }: PreparedOffers): number {
    return length;
  }

  protected workFrom({ handle }: PreparedOffers, begin: number): number {
    return this.#binding.control(this.#controller, handle, begin);
  }

  protected override execute(call: PreparedCall<PreparedOffers>, options: RunOptions): Promise<void> | undefined {
    const { handle, length } = call.handle;
    const at = this.#binding.control(this.#controller, handle, 0);
    return at < length ? this.goOn(call, at, options) : undefined;
  }

  protected override async release(running: Promise<unknown> | undefined): Promise<void> {
    await super.release(running);
    this.#binding.close(this.#controller);
  }
}
