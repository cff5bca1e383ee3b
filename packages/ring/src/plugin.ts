import { definePlugin, type Plugin } from '@coll/core';
import { RingAllReduce, type RingOptions } from './ring-all-reduce.js';

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    ring: RingOptions;
  }
}

/**
 * All-reduce around a ring, which sends the fewest bytes over the busiest link.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { ring } from '@coll/ring';
 *
 * registry.register(ring);
 * await using ops = await registry.create('ring', { numPacks: 2 });
 * console.log(ops.name); // ring
 * ```
 */
export const ring: Plugin<RingOptions> = definePlugin({
  name: 'ring',
  module: import.meta.url,
  priority: 40,
  create: (options, world) => new RingAllReduce(options, world),
});
