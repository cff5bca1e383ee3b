import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { availableCores } from './cores.js';

/** Helper threads that a process has at most, unless `COLL_HELPER_THREADS` states another number. */
const usualMost = 16;
/** The most that may be stated. */
export const mostHelpers = 256;

let configuredHelpers: number | undefined;

/** Sets the number for this thread, whatever `COLL_HELPER_THREADS` states; undefined restores the default. */
export function tellHelperThreads(helpers: number | undefined): void {
  configuredHelpers = helpers;
}

/**
 * How many helper threads may join the calling thread in collectives of ranks of one thread: one per
 * further core, at most 16, unless `configureNative` or `COLL_HELPER_THREADS` states another number.
 * @throws ValueError for a value of `COLL_HELPER_THREADS` that is not a number of threads, or of
 * `COLL_CORES` that is not a number of cores
 *
 * @example
 * ```ts
 * import { helperThreads } from '@coll/native/machine';
 *
 * console.log(helperThreads() <= 16); // true
 * ```
 */
export function helperThreads(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  cores: number = availableCores(),
): number {
  if (configuredHelpers !== undefined) return configuredHelpers;
  const variable = environment['COLL_HELPER_THREADS'];
  if (!variable) return Math.min(cores - 1, usualMost);
  const helpers = /^\d{1,3}$/.test(variable) ? Number(variable) : -1;
  if (helpers >= 0 && helpers <= mostHelpers) return helpers;
  const message = `COLL_HELPER_THREADS must be a whole number from 0 to ${mostHelpers}, got ${quote(variable)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}
