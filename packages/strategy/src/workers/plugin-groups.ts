import { type Plugin, type ProcessGroup, registry, ValueError } from '@coll/core';
import { loadPlugin } from '../strategies/plugin-environment.js';
import type { WorkerInfo } from './worker-info.js';
import type { PluginGroupConfig } from './worker-messages.js';

/** A group that a plug-in has opened. */
export interface GroupByPlugin {
  readonly group: ProcessGroup;
  /** How a thread of this worker opens another such group. */
  readonly config: PluginGroupConfig;
}

/** Whether a registered plug-in has a transport between processes. */
export function hasGroupPlugin(): boolean {
  return registry.list().some(({ openGroup }) => openGroup !== undefined);
}

/**
 * Opens a group of the workers by the first registered plug-in that connects them, in the order of
 * priority; undefined if none does.
 * @throws the errors of the plug-in; ValueError (ERR_COLL_REFUSED) if results are to be compared,
 * which only groups of `openProcessGroup` do
 */
export async function openGroupByPlugin(
  { idInCluster, workers }: WorkerInfo,
  checkResults = 0,
): Promise<GroupByPlugin | undefined> {
  for (const plugin of registry.list()) {
    const config = configOf(plugin, idInCluster, workers);
    const group = await plugin.openGroup?.(config);
    if (group && checkResults > 0) {
      await group.close();
      const message = `checkResults is not supported by the plug-in ${plugin.name}, which connects the workers`;
      throw new ValueError('ERR_COLL_REFUSED', `${message}: omit checkResults, or do not register the plug-in`);
    }
    if (group) return { group, config };
  }
  return undefined;
}

/** Opens a group in a thread, by the plug-in that has opened that of the main thread. */
export async function openGroupOf(config: PluginGroupConfig): Promise<ProcessGroup> {
  const { openGroup } = await loadPlugin(config.plugin);
  return (await openGroup?.(config)) as ProcessGroup;
}

function configOf({ name, module }: Plugin<never>, rank: number, size: number): PluginGroupConfig {
  return { rank, size, plugin: { name, module, options: undefined } };
}
