import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { tellThresholds } from './calibration.js';
import { mostHelpers, tellHelperThreads } from './machine/helper-threads.js';
import { completed, type Thresholds } from './thresholds.js';

/** Options of the native engine, for the communicators that this thread creates afterwards. */
export interface NativeOptions {
  /**
   * Maximum number of helper threads for a thread that executes all ranks, from 0 to 256. All
   * communicators of a process share the helper threads. Default: `COLL_HELPER_THREADS`, or else
   * one less than the number of cores, at most 16.
   */
  readonly helperThreads?: number | undefined;
  /**
   * Sizes in bytes from which the engine works in another way, such as `{ smallBytes: 512 }`;
   * omitted sizes keep their defaults. The result has the same bits with any sizes. All processes of
   * a group use the thresholds of rank 0. Default: `COLL_THRESHOLDS`, else `smallBytes` is measured
   * once per machine, and all other sizes are fixed.
   */
  readonly thresholds?: Partial<Thresholds> | undefined;
}

const nativeOptions = knownOptions<NativeOptions>('configureNative', { helperThreads: true, thresholds: true });

/**
 * Sets options of the native engine in this thread. `undefined` restores a default; omitted options
 * stay as they are.
 * @throws ValueError for an unknown option, a number of helper threads that is not a whole number
 * from 0 to 256, or thresholds out of their ranges
 *
 * @example
 * ```ts
 * import { configureNative } from '@coll/native';
 *
 * configureNative({ helperThreads: 3 });
 * ```
 */
export function configureNative(options: NativeOptions): void {
  const { helperThreads, thresholds } = optionsOf(options, '{ helperThreads: 3 }', nativeOptions);
  const isCount = Number.isInteger(helperThreads) && Number(helperThreads) >= 0 && Number(helperThreads) <= mostHelpers;
  if (helperThreads !== undefined && !isCount) {
    const message = `helperThreads must be a whole number from 0 to ${mostHelpers}, got ${quote(helperThreads)}`;
    throw new ValueError('ERR_COLL_VALUE', message);
  }
  const sizes = thresholds === undefined ? undefined : completed(thresholds, 'thresholds');
  if (Object.hasOwn(options, 'helperThreads')) tellHelperThreads(helperThreads);
  if (Object.hasOwn(options, 'thresholds')) tellThresholds(sizes);
}
