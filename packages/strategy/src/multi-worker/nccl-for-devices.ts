import { type CommunicationOptions, registry } from '@coll/core';
import { deviceType } from '@coll/core/plugin';
import type { PluginHome } from '../thread-messages.js';

/** What collectives among these devices are made with: NCCL is for GPUs, and a ring takes its place elsewhere. */
export function forDevices(options: CommunicationOptions, devices: readonly string[]): CommunicationOptions {
  const isForNone = options.implementation === 'NCCL' && !hasGpu(devices);
  return isForNone ? options.merge({ implementation: 'RING' }) : options;
}

/** What replicas in threads on these devices have to load, because it is looked for in their registry; undefined where there is nothing. */
export function ncclFor(devices: readonly string[]): PluginHome['plugin'] | undefined {
  if (!hasGpu(devices) || !registry.has('nccl')) return undefined;
  const { name, module } = registry.get('nccl');
  return { name, module, options: undefined };
}

function hasGpu(devices: readonly string[]): boolean {
  return devices.some((device) => deviceType(device) === 'GPU');
}
