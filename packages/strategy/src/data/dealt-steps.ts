import { PerReplica, type Structure, ValueError } from '@coll/core';
import { mapStructure, zipStructures } from '@coll/core/internal';
import { Batch, batchesOf, dispose } from './batch.js';
import type { DatasetReader } from './dataset-reader.js';
import type { EmptySteps } from './empty-steps.js';
import type { Steps } from './read-ahead.js';

/**
 * Steps in which each replica gets a whole element. A single reader gives its elements to all
 * replicas in turn; otherwise each replica has its own reader. If too few elements are left for the
 * last step, the last replicas get empty batches.
 */
export class DealtSteps implements Steps<Structure<unknown>> {
  readonly #readers: readonly DatasetReader[];
  readonly #devices: readonly (string | undefined)[];
  readonly #empty: EmptySteps | undefined;

  /**
   * `devices`: for each replica, the device of its tensors; undefined leaves the device unchanged.
   * `empty` learns the structure of the first element.
   */
  constructor(readers: readonly DatasetReader[], devices: readonly (string | undefined)[], empty?: EmptySteps) {
    this.#readers = readers;
    this.#devices = devices;
    this.#empty = empty;
  }

  async next(): Promise<IteratorResult<Structure<unknown>, undefined>> {
    const elements = new Array<IteratorResult<unknown, undefined>>(this.#devices.length);
    try {
      await this.#readInto(elements);
      if (elements.every(({ done }) => done)) return { done: true, value: undefined };
      return { done: false, value: this.#joined(elements) };
    } catch (error) {
      this.discard(elements.map(({ value }) => value) as Structure<unknown>);
      await Promise.all(this.#readers.map((reader) => reader.abandon()));
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.close()));
  }

  discard(step: Structure<unknown>): void {
    if (this.#readers.every(({ givesAway }) => givesAway)) dispose(step);
  }

  /** Reads one element per replica; different readers run concurrently. */
  async #readInto(elements: IteratorResult<unknown, undefined>[]): Promise<void> {
    const reading = this.#readers.map(async (reader, index) => {
      for (let at = index; at < elements.length; at += this.#readers.length) elements[at] = await reader.next();
    });
    // Waits for all, so that no read is pending when the first failure is thrown.
    for (const outcome of await Promise.allSettled(reading)) if (outcome.status === 'rejected') throw outcome.reason;
  }

  #joined(elements: readonly IteratorResult<unknown, undefined>[]): Structure<unknown> {
    const read = elements.map(({ done, value }) => (done ? undefined : batchesOf(value)));
    const model = read.find((batches) => batches !== undefined) as Structure<Batch>;
    this.#empty?.learn(model);
    const empty = () => mapStructure(model, emptyLike);
    return zipped(
      read.map((batches) => batches ?? empty()),
      (batches) => new PerReplica(batches.map((batch, replica) => batch.whole(this.#devices[replica]))),
    );
  }
}

/** An empty batch, for a replica that gets no element. @throws ValueError for a scalar */
function emptyLike(batch: Batch): Batch {
  if (batch.size !== undefined) return new Batch(batch.part(0, 0));
  throw new ValueError(
    'ERR_COLL_VALUE',
    'the last step has too few elements for all replicas, and a scalar cannot be empty: batch the dataset, or make its length divisible by the number of replicas',
  );
}

/** @throws ValueError if elements differ in structure */
function zipped(
  elements: readonly Structure<Batch>[],
  join: (batches: readonly Batch[]) => unknown,
): Structure<unknown> {
  try {
    return zipStructures(elements, join);
  } catch (cause) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      'the elements of one step differ in structure; all replicas must get elements of the same structure',
      {
        cause,
      },
    );
  }
}
