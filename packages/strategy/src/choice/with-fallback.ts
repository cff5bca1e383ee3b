import { createRegistry, type Registry } from '@coll/core';
import { reductionToOne } from '@coll/reduction-to-one';

/**
 * The plug-ins of a registry plus reduction to one device, so that at least one plug-in always
 * works.
 */
export function withFallback(registry: Registry): Registry {
  if (registry.has(reductionToOne.name)) return registry;
  const extended = createRegistry();
  for (const plugin of [...registry.list(), reductionToOne]) extended.register(plugin);
  return extended;
}
