import { createRegistry, type Registry } from '@coll/core';
import { reductionToOne } from '@coll/reduction-to-one';

/**
 * The plug-ins of a registry and reduction to one device, which comes with every strategy, so that there is always something that
 * works; it is the last choice.
 */
export function withFallback(registry: Registry): Registry {
  if (registry.has(reductionToOne.name)) return registry;
  const extended = createRegistry();
  for (const plugin of [...registry.list(), reductionToOne]) extended.register(plugin);
  return extended;
}
