import type { TensorLike } from '@coll/core';

/** Returns the element-wise maxima of the numbers that the readers of a dataset pass. */
export type MaxOverReaders = (numbers: Float64Array | Uint8Array) => TensorLike | Promise<TensorLike>;

export interface ReadersOptions {
  /** What a reader is called in error messages, such as `worker`. */
  readonly what: string;
  readonly max: MaxOverReaders;
  /**
   * Counts a step that ended with an error for this reader. Readers compare their counts in the next
   * call. Default: does nothing.
   */
  readonly refuse?: ((error: unknown) => void) | undefined;
}

/**
 * The readers of a dataset, such as the workers of a strategy: how they meet, and the meetings of
 * this reader.
 */
export class Readers {
  readonly what: string;
  readonly max: MaxOverReaders;
  readonly refuse: (error: unknown) => void;
  #latest: Promise<unknown> = Promise.resolve();
  #readings = 0;

  constructor({ what, max, refuse = () => {} }: ReadersOptions) {
    this.what = what;
    this.max = max;
    this.refuse = refuse;
  }

  /**
   * The number of a reading, from 1. All readers begin the readings in which they meet in the same
   * order.
   */
  nextReading(): number {
    this.#readings += 1;
    return this.#readings;
  }

  /**
   * Makes a meeting after all earlier ones have ended, so that all readers have the order in which
   * their programs requested steps, even if sources differ in speed.
   */
  inOrder<Result>(meet: () => Promise<Result>): Promise<Result> {
    const met = this.#latest.then(meet);
    this.#latest = met.catch(() => {});
    return met;
  }
}

const known = new WeakMap<object, Readers>();

/** The readers that `owner`, a group of workers or a replica, belongs to. Created once per owner. */
export function readersOf(owner: object, create: () => Readers): Readers {
  const readers = known.get(owner) ?? create();
  known.set(owner, readers);
  return readers;
}
