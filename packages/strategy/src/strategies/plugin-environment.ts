import {
  CollError,
  type CommunicationOptions,
  type CrossDeviceOps,
  type Plugin,
  registry,
  resolveEngine,
} from '@coll/core';
import { threadWorld } from '@coll/core/plugin';
import { ourEngines } from '../host.js';
import type { Strategy } from '../scope/strategy.js';
import { importModule } from '../threads/import-module.js';
import type { PluginSetup, ThreadStart } from '../threads/thread-messages.js';
import { MirroredStrategy } from './mirrored-strategy.js';

/** The environment of a replica in a thread. */
export interface ReplicaEnvironment extends AsyncDisposable {
  readonly strategy: Strategy;
  /** The ops that connect this replica to the other replicas. */
  readonly ops: CrossDeviceOps;
  /** Default options of all calls. */
  readonly defaults?: CommunicationOptions;
  /** Notifies other workers that the replica has failed. */
  fail?(error: unknown): void;
}

/**
 * Loads the plug-in and opens the environment of a replica whose peers are all in this process.
 * @throws CollError if the module does not export the plug-in
 */
export async function openPluginEnvironment(
  start: ThreadStart,
  { plugin: named }: PluginSetup,
): Promise<ReplicaEnvironment> {
  const { replica, devices, group } = start;
  const plugin = await loadPlugin(named);
  const options = named.options as never;
  const { engine } = resolveEngine(group.engine, ourEngines);
  const ops = await plugin.create(options, threadWorld(group, replica, devices, engine));
  const strategy = new MirroredStrategy({ devices, crossDeviceOps: { name: plugin, options }, engine: group.engine });
  const close = async () => {
    await strategy.close();
    await ops.close();
  };
  return { strategy, ops, [Symbol.asyncDispose]: close };
}

/**
 * A plug-in registered by this thread's entry, for example in a bundle, or the one exported by its
 * module.
 * @throws CollError if the module does not export the plug-in
 */
export async function loadPlugin({ name, module }: PluginSetup['plugin']): Promise<Plugin<never>> {
  if (registry.has(name)) return registry.get(name);
  const exported = Object.values(await importModule(module));
  const found = exported.find(
    (value) =>
      typeof value === 'object' && value !== null && (value as Partial<Plugin>).name === name && 'create' in value,
  );
  if (found) return found as Plugin<never>;
  throw new CollError(
    'ERR_COLL_MODULE',
    `${module} exports no plug-in called "${name}"; the module of a plug-in must be the module that exports it: module: import.meta.url`,
  );
}
