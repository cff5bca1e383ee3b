import type { Engine } from '@coll/core';
import { availableCores, type Host } from '@coll/core/internal';
import type { Machine } from '@coll/native/machine';
import type { Loading } from '../node/module-loading.js';
import { pageHost } from './page-host.js';

/** The host of strategies: a page. Bundles of pages take this module instead of `../host.ts` (`imports` in package.json). */
export const host: Host<Loading> = pageHost;

/** A page has the engines of core alone. */
export const ourEngines: readonly Engine[] = [];

export { availableCores };

/** A page knows the number of its cores, and nothing else of its machine. */
export function findMachine(): Machine {
  const unknown = {
    coreList: '',
    quota: undefined,
    limit: 'affinity',
    helperThreads: 0,
    nodes: [],
    caches: [],
  } as const;
  return { cores: availableCores(), ...unknown };
}

/** A page has no file for records. */
export function openRecord(): void {}

/** No program reads the stalls of a page. */
export function hasStallReader(): boolean {
  return false;
}

/** Seconds after which replicas that wait are reported. */
export function stallSecondsFrom(): number | undefined {
  return 30;
}
