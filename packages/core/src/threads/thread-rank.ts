import { CallOrder } from '../call-order.js';
import type { Communicator, Group } from '../communicator.js';
import type { DType } from '../dtype.js';
import type { CollError } from '../errors.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { Tensor } from '../tensor.js';
import type { Arena } from './arena.js';
import type { SharedBarrier } from './shared-barrier.js';

/** What one rank of a group of threads sees of it. */
export interface ThreadRankOptions {
  readonly rank: number;
  readonly barrier: SharedBarrier;
  readonly arena: Arena;
  readonly communicator: (algorithm: Algorithm, group: Group) => Communicator;
}

/** A group of threads, as one of its ranks has it: its memory is the shared arena. */
export class ThreadRank implements Group {
  readonly order = new CallOrder();
  readonly #options: ThreadRankOptions;

  constructor(options: ThreadRankOptions) {
    this.#options = options;
  }

  get failure(): CollError | undefined {
    return this.#options.barrier.failure('group');
  }

  fail(error: CollError): void {
    const { barrier, rank } = this.#options;
    barrier.failWith(error, rank);
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#options.arena.allocate(dtype, length);
  }

  communicator(algorithm: Algorithm): Communicator {
    return this.#options.communicator(algorithm, this);
  }
}
