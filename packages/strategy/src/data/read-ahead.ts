/** The input of the replicas, step by step. */
export interface Steps<Step> {
  next(): Promise<IteratorResult<Step, undefined>>;
  /** Closes the source before its last step has been read. */
  close(): Promise<void>;
  /** Frees a step that no replica receives. */
  discard(step: Step): void;
}

/**
 * Prefetches up to `size` steps. An error is thrown in place of its step, and no further steps
 * follow.
 */
export class ReadAhead<Step> implements AsyncIterableIterator<Step, undefined> {
  readonly #steps: Steps<Step>;
  readonly #size: number;
  readonly #buffer: Promise<IteratorResult<Step, undefined>>[] = [];
  #latest: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #afterFirst: (() => Promise<void>) | undefined;

  /**
   * `afterFirst` is awaited before the first step is returned, or before the end if there is no
   * step.
   */
  constructor(steps: Steps<Step>, size: number, afterFirst?: () => Promise<void>) {
    this.#steps = steps;
    this.#size = size;
    this.#afterFirst = afterFirst;
  }

  next(): Promise<IteratorResult<Step, undefined>> {
    const step = this.#buffer.shift() ?? this.#read();
    void this.#fillAfter(step);
    const afterFirst = this.#afterFirst;
    this.#afterFirst = undefined;
    return afterFirst ? this.#checked(step, afterFirst) : step;
  }

  /** Ends reading: closes the source and frees prefetched steps. */
  async return(): Promise<IteratorResult<Step, undefined>> {
    const unread = this.#buffer.splice(0);
    const wasOver = this.#isOver;
    this.#isOver = true;
    try {
      // Closes before pending reads have finished, because the source's `return` may be what
      // cancels them.
      if (!wasOver) await this.#steps.close();
    } finally {
      for (const step of await Promise.allSettled(unread)) {
        if (step.status === 'fulfilled' && !step.value.done) this.#steps.discard(step.value.value);
      }
    }
    return over;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #checked(step: Promise<IteratorResult<Step, undefined>>, check: () => Promise<void>) {
    const first = await step;
    try {
      await check();
      return first;
    } catch (error) {
      if (!first.done) this.#steps.discard(first.value);
      await this.return().catch(() => {});
      throw error;
    }
  }

  /** Reads one step once all earlier reads have finished. */
  #read(): Promise<IteratorResult<Step, undefined>> {
    const step = this.#latest.then(() => this.#readNow());
    // Marks an error as handled; it is reported when this step is requested.
    this.#latest = step.catch(() => {});
    return step;
  }

  async #readNow(): Promise<IteratorResult<Step, undefined>> {
    if (this.#isOver) return over;
    try {
      const step = await this.#steps.next();
      if (step.done) this.#isOver = true;
      return step;
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  async #fillAfter(step: Promise<unknown>): Promise<void> {
    await step.catch(() => {});
    while (!this.#isOver && this.#buffer.length < this.#size) this.#buffer.push(this.#read());
  }
}

const over: IteratorResult<never, undefined> = { done: true, value: undefined };
