import type { PerReplica, Structure, TensorCarrier } from '@coll/core';
import { type Agreement, ReadAhead, type Steps } from './read-ahead.js';

type Plain = number | string | boolean | bigint | symbol | null | undefined;

/** Types that count as batches, the leaves of an element. */
type Leaf = ArrayBufferView | TensorCarrier | { readonly dtype: unknown } | readonly Plain[];

/** The type of an element in which a `PerReplica` replaces each batch. */
export type Distributed<Element> = unknown extends Element
  ? Structure<PerReplica>
  : Element extends Leaf | Plain
    ? PerReplica<Element>
    : { readonly [Key in keyof Element]: Distributed<Element[Key]> };

/** One reading of a dataset from its beginning. */
export interface Reading<Step> {
  readonly steps: Steps<Step>;
  /** What the readers of the dataset agree on in each step. Default: nothing. */
  readonly agreement?: Agreement<Step> | undefined;
}

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
  readonly #begin: () => Reading<Step>;
  readonly #bufferSize: number;

  /** `begin` is called for each reading. */
  constructor(begin: () => Reading<Step>, bufferSize: number) {
    this.#begin = begin;
    this.#bufferSize = bufferSize;
  }

  /**
   * Reads from the beginning. Disposing of the iterator, or leaving its loop, closes the source and
   * frees prefetched steps.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<Step, undefined> & AsyncDisposable {
    const { steps, agreement } = this.#begin();
    return new ReadAhead(steps, this.#bufferSize, agreement);
  }
}
