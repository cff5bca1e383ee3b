import { CrossDeviceOps, createRegistry, type PluginRequest, type Registry, type Resolution } from '@coll/core';
import { reductionToOne } from '@coll/reduction-to-one';

/** @throws CollError for a name that nothing is registered under, so that a typing error shows where the strategy is made */
export function requireKnown(request: CrossDeviceOps | PluginRequest, registry: Registry): void {
  if (request instanceof CrossDeviceOps) return;
  const name = typeof request === 'object' && !('create' in request) ? request.name : request;
  if (typeof name === 'string' && name !== 'auto') withFallback(registry).get(name);
}

/** The plug-in that serves these devices, with why it was chosen. */
export function findPlugin(
  request: PluginRequest,
  registry: Registry,
  devices: readonly string[],
): Promise<Resolution> {
  return withFallback(registry).resolve(request, { devices });
}

// Reduction to one device comes with every strategy, so that there is always something that works; it is the last choice.
function withFallback(registry: Registry): Registry {
  if (registry.has(reductionToOne.name)) return registry;
  const extended = createRegistry();
  for (const plugin of [...registry.list(), reductionToOne]) extended.register(plugin);
  return extended;
}
