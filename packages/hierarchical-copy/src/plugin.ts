import { definePlugin, type Plugin } from '@coll/core';
import { HierarchicalCopyAllReduce, type HierarchicalCopyOptions } from './hierarchical-copy-all-reduce.js';

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    'hierarchical-copy': HierarchicalCopyOptions;
  }
}

/**
 * Sums each half of the devices on one device of that half, then adds both sums on one of these two
 * devices, the root. Each pack uses another root.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { hierarchicalCopy } from '@coll/hierarchical-copy';
 *
 * registry.register(hierarchicalCopy);
 * await using ops = await registry.create('hierarchical-copy');
 * console.log(ops.name); // hierarchical-copy
 * ```
 */
export const hierarchicalCopy: Plugin<HierarchicalCopyOptions> = definePlugin({
  name: 'hierarchical-copy',
  module: import.meta.url,
  priority: 20,
  create: (options, world) => new HierarchicalCopyAllReduce(options, world),
});
