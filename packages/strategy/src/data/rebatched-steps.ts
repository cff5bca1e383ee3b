import type { Structure } from '@coll/core';
import { mapStructure } from '@coll/core/internal';
import type { Sharding } from './auto-shard.js';
import { type Batch, batchesOf, batchSizeOf, dispose } from './batch.js';
import type { DatasetReader } from './dataset-reader.js';
import type { EmptySteps } from './empty-steps.js';
import type { Steps } from './read-ahead.js';
import { checksumOf } from './same-input.js';
import { evenSizes, sizesUntilExhausted, stepsOfBatch, type WorkerPlace } from './sub-batches.js';

export interface Rebatching {
  readonly place: WorkerPlace;
  readonly sharding: Sharding;
  /**
   * Number of items in a full batch of all replicas; undefined means the size of the first batch.
   */
  readonly globalBatchSize: number | undefined;
  /** For each replica, the device of its tensors; undefined leaves the device unchanged. */
  readonly devices: readonly (string | undefined)[];
  /** Joins the parts of one batch, one per replica, into the value used in a step. */
  readonly join: (parts: readonly unknown[]) => unknown;
  /** Whether to compute the checksum of the first batch. */
  readonly isChecked: boolean;
  /** Learns the structure of the first element. Default: nothing does. */
  readonly empty?: EmptySteps | undefined;
}

/** Batches of the global size, split across the replicas. */
export class RebatchedSteps implements Steps<Structure<unknown>> {
  readonly #reader: DatasetReader;
  readonly #rebatching: Rebatching;
  /** Steps of the current batch that have not been returned yet. */
  readonly #pending: Structure<unknown>[] = [];
  #globalBatchSize: number | undefined;
  #isClosed = false;
  #checksum: number | undefined;

  constructor(reader: DatasetReader, rebatching: Rebatching) {
    this.#reader = reader;
    this.#rebatching = rebatching;
    this.#globalBatchSize = rebatching.globalBatchSize;
  }

  /**
   * Checksum of the first batch; undefined before that batch has been read, and without
   * `isChecked`.
   */
  get checksum(): number | undefined {
    return this.#checksum;
  }

  async next(): Promise<IteratorResult<Structure<unknown>, undefined>> {
    if (this.#pending.length === 0) {
      const read = await this.#reader.next();
      if (read.done) return read;
      this.#pending.push(...(await this.#split(read.value)));
      // Closed while the batch was being read: its steps are no longer needed.
      if (this.#isClosed) return this.#discardPending();
    }
    return { done: false, value: this.#pending.shift() as Structure<unknown> };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#discardPending();
    await this.#reader.close();
  }

  discard(step: Structure<unknown>): void {
    dispose(step);
  }

  #discardPending(): IteratorResult<never, undefined> {
    for (const step of this.#pending.splice(0)) this.discard(step);
    return { done: true, value: undefined };
  }

  async #split(element: unknown): Promise<Structure<unknown>[]> {
    try {
      const batches = batchesOf(element);
      const steps = this.#stepsOf(batches);
      this.#rebatching.empty?.learn(batches);
      if (this.#rebatching.isChecked) this.#checksum ??= await checksumOf(batches);
      return steps;
    } catch (error) {
      await this.#reader.abandon();
      throw error;
    } finally {
      if (this.#reader.givesAway) dispose(element);
    }
  }

  #stepsOf(batches: Structure<Batch>): Structure<unknown>[] {
    const { place, sharding, devices, join } = this.#rebatching;
    const size = batchSizeOf(batches);
    this.#globalBatchSize ??= size;
    const split = size === this.#globalBatchSize ? evenSizes : sizesUntilExhausted;
    const steps = stepsOfBatch(split(size, place.numWorkers * place.replicasPerWorker), place, sharding);
    return steps.map((ranges) =>
      mapStructure(batches, (batch) =>
        join(ranges.map(({ begin, end }, replica) => batch.part(begin, end, devices[replica]))),
      ),
    );
  }
}
