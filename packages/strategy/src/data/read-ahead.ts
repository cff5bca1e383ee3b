/** The input of the replicas, step by step. */
export interface Steps<Step> {
  next(): Promise<IteratorResult<Step, undefined>>;
  /** Closes the source before its last step has been read. */
  close(): Promise<void>;
  /** Frees a step that no replica receives. */
  discard(step: Step): void;
}

/** What the readers of a dataset agree on before a step is returned, such as whether any of them has one. */
export interface Agreement<Step> {
  /**
   * The step to return for this reader's own one. Called for each requested step, in order, and never
   * for prefetched ones.
   */
  agree(own: Promise<IteratorResult<Step, undefined>>): Promise<IteratorResult<Step, undefined>>;
  /** Called with the error that this reader gets instead of a step. Other readers may have got a step. */
  refuse(error: unknown): void;
  /** Called when no more steps are returned. */
  close(): void;
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
  readonly #agreement: Agreement<Step> | undefined;
  #isClosed = false;

  constructor(steps: Steps<Step>, size: number, agreement?: Agreement<Step>) {
    this.#steps = steps;
    this.#size = size;
    this.#agreement = agreement;
  }

  next(): Promise<IteratorResult<Step, undefined>> {
    if (this.#isClosed) return Promise.resolve(over);
    const step = this.#buffer.shift() ?? this.#read();
    void this.#fillAfter(step);
    return this.#agreement ? this.#agreed(step, this.#agreement) : step;
  }

  /** Ends reading: closes the source and frees prefetched steps. */
  async return(): Promise<IteratorResult<Step, undefined>> {
    const unread = this.#buffer.splice(0);
    const wasOver = this.#isOver;
    this.#isOver = true;
    this.#isClosed = true;
    this.#agreement?.close();
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

  async #agreed(own: Promise<IteratorResult<Step, undefined>>, agreement: Agreement<Step>) {
    try {
      const step = await agreement.agree(own);
      if (step.done) await this.#end(own);
      return step;
    } catch (error) {
      agreement.refuse(error);
      await this.#end(own);
      throw error;
    }
  }

  /** Ends reading after a step that is not returned. */
  async #end(own: Promise<IteratorResult<Step, undefined>>): Promise<void> {
    const step = await own.catch(() => over);
    if (!step.done) this.#steps.discard(step.value);
    await this.return().catch(() => {});
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
