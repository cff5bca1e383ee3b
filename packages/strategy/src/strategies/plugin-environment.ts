import {
  CollError,
  type CommunicationOptions,
  type CrossDeviceOps,
  type Plugin,
  registry,
  resolveEngine,
} from '@coll/core';
import { threadWorld } from '@coll/core/plugin';
import { CountedGroups } from '../choice/strategy-log.js';
import { withFallback } from '../choice/with-fallback.js';
import { host, ourEngines } from '../host.js';
import type { Strategy } from '../scope/strategy.js';
import { importModule } from '../threads/import-module.js';
import type { PluginSetup, ThreadStart } from '../threads/thread-messages.js';
import { MirroredStrategy } from './mirrored-strategy.js';

/** The environment of a replica in a thread. */
export interface ReplicaEnvironment extends AsyncDisposable {
  readonly strategy: Strategy;
  /** Counts the collectives of the replica. */
  readonly counts: CountedGroups;
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
  { plugin: named, checkResults }: PluginSetup,
): Promise<ReplicaEnvironment> {
  const { replica, devices, group } = start;
  const plugin = await loadPlugin(named);
  const options = named.options as never;
  const { engine } = resolveEngine(group.engine, ourEngines);
  const counts = new CountedGroups(checkResults);
  const ops = await plugin.create(options, counts.counted(threadWorld(group, replica, devices, engine)));
  const strategy = new MirroredStrategy({ devices, crossDeviceOps: { name: plugin, options }, engine: group.engine });
  const close = async () => {
    await strategy.close();
    await ops.close();
  };
  return { strategy, counts, ops, [Symbol.asyncDispose]: close };
}

/**
 * A plug-in registered in this thread, or the one exported by its module.
 * @throws CollError if the module does not export the plug-in, and if a bundle does not register it
 */
export async function loadPlugin({ name, module }: PluginSetup['plugin']): Promise<Plugin<never>> {
  if (registry.has(name)) return registry.get(name);
  // In a bundle, the plug-in may be part of the program, which a thread must not run again.
  if (host.isBundled()) {
    const known = withFallback(registry);
    if (known.has(name)) return known.get(name);
    const message = `plug-in "${name}" is not registered in the threads of replicas`;
    const advice = `in a bundle, the replica's module must import '@coll/${name}/register', or register its own plug-in`;
    throw new CollError('ERR_COLL_MODULE', `${message}: ${advice}`);
  }
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
