import { CallOrder } from './call-order.js';
import type { Communicator, Group } from './communicator.js';
import type { DType } from './dtype.js';
import { CollError, ValueError } from './errors.js';
import { quote } from './quote.js';
import type { Algorithm } from './schedule/schedule.js';
import { type Tensor, zeros } from './tensor.js';

/** How a single controller makes its communicators and its memory. */
export interface ControllerGroupOptions {
  readonly communicator: (algorithm: Algorithm, group: Group) => Communicator;
  /** Default: ordinary memory. */
  readonly allocate?: ((dtype: DType, length: number) => Tensor) | undefined;
}

/** The group of a single controller, which holds the buffers of all ranks: only `fail` ends it. */
export class ControllerGroup implements Group {
  readonly order = new CallOrder();
  readonly #options: ControllerGroupOptions;
  #failure: CollError | undefined;

  constructor(options: ControllerGroupOptions) {
    this.#options = options;
  }

  get failure(): CollError | undefined {
    return this.#failure;
  }

  fail(error: CollError): void {
    requireCollError(error);
    this.#failure ??= error;
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#options.allocate?.(dtype, length) ?? zeros(dtype, [length]);
  }

  communicator(algorithm: Algorithm): Communicator {
    return this.#options.communicator(algorithm, this);
  }
}

/** @throws ValueError unless it is a CollError */
export function requireCollError(error: unknown): void {
  if (error instanceof CollError) return;
  throw new ValueError('ERR_COLL_VALUE', `a group must fail with a CollError, got ${quote(error)}`);
}
