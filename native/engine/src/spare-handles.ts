const mostSpares = 16;

/** Native handles of calls on new memory, used again for other calls, so that none has to be freed. */
export class SpareHandles<Handle> {
  readonly #spares: Handle[] = [];
  #latest: Handle | undefined;

  /** A handle to fill again; undefined if there is none. */
  take(): Handle | undefined {
    return this.#spares.pop();
  }

  /**
   * Takes the handle of a call that has ended. Other ranks may read it until this rank's next call
   * has ended.
   */
  add(handle: Handle): void {
    if (this.#latest !== undefined && this.#spares.length < mostSpares) this.#spares.push(this.#latest);
    this.#latest = handle;
  }
}
