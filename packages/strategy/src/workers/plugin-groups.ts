import { type Plugin, type ProcessGroup, registry } from '@coll/core';
import { loadPlugin } from '../strategies/plugin-home.js';
import type { PluginSeat } from './worker-messages.js';
import type { WorkerPlace } from './worker-place.js';

/** A group that a plug-in has opened. */
export interface GroupByPlugin {
  readonly group: ProcessGroup;
  /** How a thread of this worker opens another such group. */
  readonly seat: PluginSeat;
}

/** Whether a registered plug-in has a transport between processes. */
export function hasGroupPlugin(): boolean {
  return registry.list().some(({ openGroup }) => openGroup !== undefined);
}

/**
 * Opens a group of the workers by the first registered plug-in that connects them, in the order of
 * priority; undefined if none does.
 * @throws the errors of the plug-in
 */
export async function openGroupByPlugin({ idInCluster, workers }: WorkerPlace): Promise<GroupByPlugin | undefined> {
  for (const plugin of registry.list()) {
    const seat = seatOf(plugin, idInCluster, workers);
    const group = await plugin.openGroup?.(seat);
    if (group) return { group, seat };
  }
  return undefined;
}

/** Opens a group in a thread, by the plug-in that has opened that of the main thread. */
export async function openGroupIn(seat: PluginSeat): Promise<ProcessGroup> {
  const { openGroup } = await loadPlugin(seat.plugin);
  return (await openGroup?.(seat)) as ProcessGroup;
}

function seatOf({ name, module }: Plugin<never>, rank: number, size: number): PluginSeat {
  return { rank, size, plugin: { name, module, options: undefined } };
}
