import type { PerReplica, Structure, TensorCarrier } from '@coll/core';
import { ReadAhead, type Steps } from './read-ahead.js';

type Plain = number | string | boolean | bigint | symbol | null | undefined;

/** Types that count as batches, the leaves of an element. */
type Leaf = ArrayBufferView | TensorCarrier | { readonly dtype: unknown } | readonly Plain[];

/** The type of an element in which a `PerReplica` replaces each batch. */
export type Distributed<Element> = unknown extends Element
  ? Structure<PerReplica>
  : Element extends Leaf | Plain
    ? PerReplica<Element>
    : { readonly [Key in keyof Element]: Distributed<Element[Key]> };

/**
 * The input of the replicas, step by step: `for await (const step of dataset)`. Every loop reads
 * the dataset from its beginning.
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const batches = [new Float32Array([1, 2, 3, 4])];
 * for await (const step of strategy.experimentalDistributeDataset(batches)) {
 *   console.log(step.values.map((part) => part.join(' '))); // [ '1 2', '3 4' ]
 * }
 * ```
 */
export class DistributedDataset<Step> implements AsyncIterable<Step> {
  readonly #begin: () => Steps<Step>;
  readonly #afterFirst: ((steps: Steps<Step>) => Promise<void>) | undefined;
  readonly #bufferSize: number;

  /** `afterFirst` is awaited before the first step of each reading is returned. */
  constructor(begin: () => Steps<Step>, bufferSize: number, afterFirst?: (steps: Steps<Step>) => Promise<void>) {
    this.#begin = begin;
    this.#bufferSize = bufferSize;
    this.#afterFirst = afterFirst;
  }

  /**
   * Reads from the beginning. Disposing of the iterator, or leaving its loop, closes the source and
   * frees prefetched steps.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Step, undefined> & AsyncDisposable {
    const steps = this.#begin();
    const afterFirst = this.#afterFirst;
    return new ReadAhead(steps, this.#bufferSize, afterFirst && (() => afterFirst(steps)));
  }
}
