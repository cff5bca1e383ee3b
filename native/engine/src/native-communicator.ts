import { availableParallelism } from 'node:os';
import type { Algorithm, Collective, DType, Group, RunOptions } from '@coll/core';
import { allRanks, ControllerGroup, deadlineOf, nextTurn, requireGoing } from '@coll/core/internal';
import {
  type CheckedCall,
  clashError,
  type KnownCall,
  OrderedCommunicator,
  operationOf,
  reads,
  writes,
} from '@coll/core/plugin';
import type { Clash, ControllerHandle, DealHandle } from './handles.js';
import type { NativeBinding } from './native-binding.js';
import { Programs } from './programs.js';
import { NewCalls } from './turns.js';

interface Deal {
  readonly handle: DealHandle;
  readonly length: number;
}

type Call = KnownCall<Deal>;

/**
 * All ranks' buffers in one hand, played in C++ by the calling thread and helpers on the other cores. An asynchronous call that takes
 * more than a millisecond lets the event loop run in between.
 */
export class NativeCommunicator extends OrderedCommunicator<Deal> {
  readonly group: Group;
  readonly #binding: NativeBinding;
  readonly #controller: ControllerHandle;
  readonly #programs: Programs;
  readonly #newCalls = new NewCalls();

  /** @throws ValueError for a size below 1 */
  constructor(binding: NativeBinding, size: number, algorithm: Algorithm, group?: Group) {
    super(size, allRanks(size));
    this.#binding = binding;
    this.#controller = binding.controller(size, availableParallelism());
    this.#programs = new Programs(binding, algorithm, size);
    const communicator = (other: Algorithm, own: Group) => new NativeCommunicator(binding, size, other, own);
    const ofSize = (ranks: number, other: Algorithm) => new NativeCommunicator(binding, ranks, other);
    this.group = group ?? new ControllerGroup({ communicator, ofSize });
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  protected prepare({ collective, begins, length, dtype, isShared, inputs, outputs, request }: CheckedCall): Deal {
    const handle = this.#binding.deal(
      this.#programs.find(collective, dtype).handle,
      begins,
      inputs.map((pieces, rank) => (reads(collective, rank) ? pieces.map(({ data }) => data) : [])),
      outputs.map((pieces, rank) => (writes(collective, rank) ? pieces.map(({ data }) => data) : [])),
      isShared,
    );
    if (Array.isArray(handle)) throw clashError(operationOf({ collective, request }), ...(handle as Clash));
    this.#newCalls.add();
    return { handle: handle as DealHandle, length };
  }

  protected playSync({ handle: { handle, length } }: Call): void {
    let begin = 0;
    do begin = this.#binding.control(this.#controller, handle, begin);
    while (begin < length);
  }

  protected override play(call: Call, options: RunOptions): Promise<void> | undefined {
    const { handle, length } = call.handle;
    const end = this.#binding.control(this.#controller, handle, 0);
    if (end < length) return this.#goOn(call, end, options);
    return this.#newCalls.isTurnDue() ? nextTurn() : undefined;
  }

  protected override playLater(call: Call, options: RunOptions): Promise<void> {
    return this.#goOn(call, 0, options);
  }

  protected override async release(running: Promise<unknown> | undefined): Promise<void> {
    await running?.catch(() => {});
    this.#binding.close(this.#controller);
  }

  async #goOn(call: Call, begin: number, options: RunOptions): Promise<void> {
    const deadline = deadlineOf(options);
    const { handle, length } = call.handle;
    let at = begin;
    do {
      if (at > 0) await nextTurn();
      requireGoing(call, this.size, options, deadline);
      at = this.#binding.control(this.#controller, handle, at);
    } while (at < length);
  }
}
