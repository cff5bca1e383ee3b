import { RuntimeError } from '@coll/core';
import { type OpenDataset, openDataset } from './dataset.js';

/** Reads a dataset once, from its beginning. Reading starts when the first element is requested. */
export class DatasetReader {
  readonly #dataset: unknown;
  #opened: Promise<OpenDataset> | undefined;
  #isOver = false;
  #givesAway = false;

  constructor(dataset: unknown) {
    this.#dataset = dataset;
  }

  /** Whether the caller may keep and change the elements that it has read. */
  get givesAway(): boolean {
    return this.#givesAway;
  }

  /**
   * The next element.
   * @throws the dataset's error, after which the reader has no more elements; RuntimeError for a
   * generator that has been read before
   */
  async next(): Promise<IteratorResult<unknown, undefined>> {
    if (this.#isOver) return over;
    try {
      this.#opened ??= openOnce(this.#dataset);
      const { iterator, givesAway } = await this.#opened;
      this.#givesAway = givesAway;
      if (this.#isOver) return over;
      const result = await iterator.next();
      if (result.done) {
        this.#isOver = true;
        return over;
      }
      return { done: false, value: await this.#settled(result.value) };
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  /**
   * Ends the reading and waits until the dataset has cleaned up. Later calls do nothing.
   * @throws the dataset's error during the cleanup
   */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.iterator.return?.();
  }

  /**
   * Closes the reader after an error and ignores errors in closing, because the first error takes
   * precedence.
   */
  async abandon(): Promise<void> {
    await this.close().catch(() => {});
  }

  /**
   * Awaits an element, because iterables may yield promises. Closes the reader if the promise is
   * rejected, because the rejection does not close the iterable.
   */
  async #settled(value: unknown): Promise<unknown> {
    try {
      return await value;
    } catch (error) {
      await this.abandon();
      throw error;
    }
  }
}

const over: IteratorResult<never, undefined> = { done: true, value: undefined };

// Iterators in use: two readers of one generator would each get only some of its elements.
const begun = new WeakSet<object>();

async function openOnce(dataset: unknown): Promise<OpenDataset> {
  const opened = await openDataset(dataset);
  if (!begun.has(opened.iterator)) {
    begun.add(opened.iterator);
    return opened;
  }
  throw new RuntimeError(
    'ERR_COLL_CONTEXT',
    'this dataset is a generator, which can be read only once: to read it again, or for several replicas, pass a function that creates it',
  );
}
