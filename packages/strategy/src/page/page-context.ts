import type { HostContext } from '@coll/core/internal';

/**
 * A value for running code. Browsers cannot make a value follow code behind an `await`: there, code
 * has the value of the code around it.
 */
export class PageContext<T> implements HostContext<T> {
  #store: T | undefined;

  getStore(): T | undefined {
    return this.#store;
  }

  run<Result>(store: T, code: () => Result): Result {
    const before = this.#store;
    this.#store = store;
    try {
      return code();
    } finally {
      this.#store = before;
    }
  }

  enterWith(store: T): void {
    this.#store = store;
  }

  disable(): void {
    this.#store = undefined;
  }
}
