import { type CommunicationOptions, registry } from '@coll/core';
import { deviceType } from '@coll/core/plugin';
import type { PluginSetup } from '../threads/thread-messages.js';

/** Options for collectives across these devices: replaces NCCL by RING if none of them is a GPU. */
export function forDevices(options: CommunicationOptions, devices: readonly string[]): CommunicationOptions {
  const isForNone = options.implementation === 'NCCL' && !hasGpu(devices);
  return isForNone ? options.merge({ implementation: 'RING' }) : options;
}

/**
 * The NCCL plug-in that replica threads on these devices must load, because each thread has its own
 * registry; undefined if there is no GPU, or `nccl` is not registered.
 */
export function ncclFor(devices: readonly string[]): PluginSetup['plugin'] | undefined {
  if (!hasGpu(devices) || !registry.has('nccl')) return undefined;
  const { name, module } = registry.get('nccl');
  return { name, module, options: undefined };
}

function hasGpu(devices: readonly string[]): boolean {
  return devices.some((device) => deviceType(device) === 'GPU');
}
