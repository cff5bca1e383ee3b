import { refusedError } from '../collectives/call-errors.js';
import { LocalMessages } from '../messages/local-messages.js';
import { type GroupIdentity, type RecordedGroup, recordedGroup } from '../record/recorder-hook.js';
import { CallOrder } from '../runtime/call-order.js';
import type { Communicator, Group, RunOptions, SplitPart, SubGroup } from '../runtime/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import { CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import type { DType } from '../values/dtype.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { ranksByColor } from './split.js';

/** How a single controller creates communicators and memory. */
export interface ControllerGroupOptions {
  /** The group in records. Default: its calls are not recorded. */
  readonly recorded?: Pick<GroupIdentity, 'engine' | 'size'>;
  readonly communicator: (algorithm: Algorithm, group: Group) => Communicator;
  /** Allocates the group's memory. Default: ordinary memory. */
  readonly allocate?: Group['allocate'] | undefined;
  /** Creates a communicator for a group of another size. Default: the group cannot be split. */
  readonly ofSize?: ((size: number, algorithm: Algorithm) => Communicator) | undefined;
}

/**
 * The group of a single controller, which passes the buffers of all ranks. Only `fail` ends it, and
 * a message to or from a rank that has left.
 */
export class ControllerGroup implements Group {
  readonly order = new CallOrder();
  readonly recorded: RecordedGroup | undefined;
  readonly #options: ControllerGroupOptions;
  readonly #messages = new LocalMessages(this);
  #failure: CollError | undefined;

  constructor(options: ControllerGroupOptions) {
    this.#options = options;
    const { recorded } = options;
    if (recorded) {
      // Pages without a secure context have no `crypto.randomUUID`.
      const id = Array.from({ length: 3 }, () => Math.random().toString(36).slice(2)).join('');
      this.recorded = recordedGroup({ id, kind: 'one thread', transport: 'memory', rank: -1, ...recorded });
    }
  }

  get failure(): CollError | undefined {
    return this.#failure;
  }

  fail(error: CollError): void {
    requireCollError(error);
    this.#failure ??= error;
    this.#messages.endIfFailed();
  }

  /** A rank leaves: messages with it end, those between other ranks go on. */
  leave(rank: number): void {
    this.#messages.leave(rank);
  }

  allocate<D extends DType>(dtype: D, length: number): Tensor<D> {
    return this.#options.allocate?.(dtype, length) ?? zeros(dtype, [length]);
  }

  communicator(algorithm: Algorithm): Communicator {
    return this.#options.communicator(algorithm, this);
  }

  async split(parts: readonly SplitPart[], algorithm: Algorithm): Promise<readonly (SubGroup | undefined)[]> {
    const { ofSize } = this.#options;
    if (!ofSize)
      throw refusedError('these ranks are made of other communicators, which cannot be split', { operation: 'split' });
    const subGroups: (SubGroup | undefined)[] = parts.map(() => undefined);
    for (const ranks of ranksByColor(parts)) {
      const communicator = ofSize(ranks.length, algorithm);
      const subGroup = { communicator, close: () => communicator.close() };
      for (const rank of ranks) subGroups[rank] = subGroup;
    }
    return subGroups;
  }

  send(rank: number, to: number, value: Tensor, options?: RunOptions): Promise<void> {
    return this.#messages.send(rank, to, value, options);
  }

  receive(rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void> {
    return this.#messages.receive(rank, from, into, options);
  }

  refuseMessage(rank: number, call: 'send' | 'receive', peer: number, error: unknown): void {
    this.#messages.refuse(rank, call, peer, error);
  }
}

/** @throws ValueError unless `error` is a CollError */
export function requireCollError(error: unknown): void {
  if (error instanceof CollError) return;
  throw new ValueError('ERR_COLL_VALUE', `the failure of a group must be a CollError, got ${quote(error)}`);
}
