import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { mostHelpers, tellHelperThreads } from './machine/helper-threads.js';

/** Options of the native engine, for the communicators that this thread creates afterwards. */
export interface NativeOptions {
  /**
   * Maximum number of helper threads for a thread that executes all ranks, from 0 to 256. All
   * communicators of a process share the helper threads. Default: `COLL_HELPER_THREADS`, or else
   * one less than the number of cores, at most 16.
   */
  readonly helperThreads?: number | undefined;
}

const nativeOptions = knownOptions<NativeOptions>('configureNative', { helperThreads: true });

/**
 * Sets options of the native engine in this thread. `undefined` restores a default.
 * @throws ValueError for an unknown option, or a number of helper threads that is not a whole number from 0 to 256
 *
 * @example
 * ```ts
 * import { configureNative } from '@coll/native';
 *
 * configureNative({ helperThreads: 3 });
 * ```
 */
export function configureNative(options: NativeOptions): void {
  const { helperThreads } = optionsOf(options, '{ helperThreads: 3 }', nativeOptions);
  const isCount = Number.isInteger(helperThreads) && Number(helperThreads) >= 0 && Number(helperThreads) <= mostHelpers;
  if (helperThreads !== undefined && !isCount) {
    const told = `helperThreads must be a whole number from 0 to ${mostHelpers}, got ${quote(helperThreads)}`;
    throw new ValueError('ERR_COLL_VALUE', told);
  }
  tellHelperThreads(helperThreads);
}
