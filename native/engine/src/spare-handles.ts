const mostSpares = 16;

/** Native handles of ended calls, reused for later calls so that they need not be freed. */
export class SpareHandles<Handle> {
  readonly #spares: Handle[] = [];
  #latest: Handle | undefined;

  /** A handle to reuse; undefined if there is none. */
  take(): Handle | undefined {
    return this.#spares.pop();
  }

  /**
   * Adds the handle of a call that has ended. Other ranks may read the handle until this rank's
   * next call has ended, so it is not reused before.
   */
  add(handle: Handle): void {
    if (this.#latest !== undefined && this.#spares.length < mostSpares) this.#spares.push(this.#latest);
    this.#latest = handle;
  }
}
