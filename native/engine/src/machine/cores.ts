import { availableParallelism } from 'node:os';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { isCoreList, mostCores } from './core-list.js';
import { cpuQuota } from './cpu-quota.js';
import { SystemFiles } from './system-files.js';

/** The CPU cores that this process may use, and what limits them. */
export interface Cores {
  /** Number of threads of this process that can run at once. */
  readonly cores: number;
  /** The cores that this process may use, as Linux lists them: `0-3,8`. Empty if the system does not report them. */
  readonly coreList: string;
  /** The quota of this process, or of its container, in cores. Undefined if there is none. */
  readonly quota: number | undefined;
  /** What decided: `COLL_CORES`, the quota, or the cores that this process may use. */
  readonly limit: 'COLL_CORES' | 'quota' | 'affinity';
}

/** Where to find the cores. Default: this process. */
export interface CoresOptions {
  /** The folder with `proc` and `sys`. Default: `/`. */
  readonly root?: string;
  /** What Node.js reports. Default: `availableParallelism()`, which in Node.js 20 ignores quotas. */
  readonly announced?: number;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Finds the cores of this process. A quota counts in whole cores, rounded down, but as at least one core.
 * @throws ValueError for a value of `COLL_CORES` that is not a number of cores
 *
 * @example
 * ```ts
 * import { findCores } from '@coll/native/machine';
 *
 * const { cores, limit } = findCores();
 * console.log(cores > 0, limit); // true affinity
 * ```
 */
export function findCores({
  root = '/',
  announced = availableParallelism(),
  environment = process.env,
}: CoresOptions = {}): Cores {
  const files = new SystemFiles(root);
  const quota = cpuQuota(files);
  const variable = environment['COLL_CORES'];
  if (variable) return { cores: coresOf(variable), coreList: `0-${coresOf(variable) - 1}`, quota, limit: 'COLL_CORES' };
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(files.read('proc/self/status') ?? '')?.[1] ?? '';
  const coreList = isCoreList(list) ? list : '';
  const whole = quota === undefined ? announced : Math.max(1, Math.floor(quota));
  return { cores: Math.min(announced, whole), coreList, quota, limit: whole < announced ? 'quota' : 'affinity' };
}

/**
 * Number of threads of this process that can run at once. Counts the cores that the process may
 * use and its CPU quota.
 * @throws ValueError for a value of `COLL_CORES` that is not a number of cores
 *
 * @example
 * ```ts
 * import { availableCores } from '@coll/native/machine';
 *
 * console.log(availableCores() > 0); // true
 * ```
 */
export function availableCores(): number {
  return findCores().cores;
}

function coresOf(text: string): number {
  const cores = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (cores >= 1 && cores <= mostCores) return cores;
  const message = `COLL_CORES must be a whole number from 1 to ${mostCores}, got ${quote(text)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}
