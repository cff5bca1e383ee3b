import { definePlugin, type Plugin } from '@coll/core';
import { DirectAllReduce, type DirectOptions } from './direct-all-reduce.js';

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    direct: DirectOptions;
  }
}

/**
 * Each rank combines its own chunk directly from all ranks. This needs the fewest rounds, and
 * results are bitwise equal for any packing.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { direct } from '@coll/direct';
 *
 * registry.register(direct);
 * await using ops = await registry.create('direct');
 * console.log(ops.name); // direct
 * ```
 */
export const direct: Plugin<DirectOptions> = definePlugin({
  name: 'direct',
  module: import.meta.url,
  priority: 60,
  create: (options, world) => new DirectAllReduce(options, world),
});
