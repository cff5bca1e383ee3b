import { type Cores, type CoresOptions, findCores } from './cores.js';
import { helperThreads } from './helper-threads.js';
import { findTopology, type Topology } from './topology.js';

/** What was found about the cores of this process. */
export interface Machine extends Cores, Topology {
  /** How many helper threads may join a thread whose ranks are all its own. */
  readonly helperThreads: number;
}

/**
 * Finds the cores, NUMA nodes and caches of this process, in some milliseconds.
 * @throws ValueError for a value of `COLL_CORES` or `COLL_HELPER_THREADS` that is not a number
 *
 * @example
 * ```ts
 * import { describeMachine, findMachine } from '@coll/native/machine';
 *
 * console.log(describeMachine(findMachine())); // 2 cores…
 * ```
 */
export function findMachine(options: CoresOptions = {}): Machine {
  const cores = findCores(options);
  const helpers = helperThreads(options.environment, cores.cores);
  return { ...cores, helperThreads: helpers, ...findTopology(cores.coreList, options.root) };
}

/** Describes a machine in one line, for `explain()`. */
export function describeMachine(machine: Machine): string {
  const helpers = `up to ${machine.helperThreads} helper threads`;
  return [describeCores(machine), describeQuota(machine), describeNodes(machine), helpers].join(', ');
}

/** The number of cores and the reason for it. */
export function describeCores({ cores, coreList, limit }: Cores): string {
  const text = cores === 1 ? '1 core' : `${cores} cores`;
  if (limit === 'COLL_CORES') return `${text} by COLL_CORES`;
  if (limit === 'quota') return `${text} by the CPU quota${coreList && `, of the cores ${coreList}`}`;
  return coreList ? `${text} (${coreList})` : text;
}

/** The CPU quota. */
export function describeQuota({ quota }: Cores): string {
  return quota === undefined ? 'no CPU quota' : `a CPU quota of ${Number(quota.toFixed(2))} cores`;
}

/** The NUMA nodes with their cores. */
export function describeNodes({ nodes }: Topology): string {
  if (nodes.length === 0) return 'NUMA nodes not reported';
  if (nodes.length === 1) return '1 NUMA node';
  return `${nodes.length} NUMA nodes (${nodes.map(({ node, coreList }) => `${node}: ${coreList}`).join('; ')})`;
}

/** The caches, one text per level and size. */
export function describeCaches({ caches }: Topology): readonly string[] {
  const kinds = new Map<string, readonly string[]>();
  for (const { level, bytes, coreList } of caches) {
    const kind = `L${level} ${sizeOf(bytes)}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), coreList]);
  }
  return [...kinds].map(([kind, lists]) => {
    const isPrivate = lists.every((list) => /^\d+$/.test(list));
    return isPrivate ? `${kind} per core` : `${kind} shared by ${lists.map((list) => `cores ${list}`).join('; ')}`;
  });
}

function sizeOf(bytes: number): string {
  return bytes < 1024 ** 2 ? `${bytes / 1024} KiB` : `${Number((bytes / 1024 ** 2).toFixed(2))} MiB`;
}
