import { definePlugin, type Plugin } from '@coll/core';
import { ReductionToOneDevice, type ReductionToOneOptions } from './reduction-to-one-device.js';

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    'reduction-to-one': ReductionToOneOptions;
  }
}

/**
 * Combines all values on one device. This works on every platform, for all dtypes, ops and
 * destinations.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { reductionToOne } from '@coll/reduction-to-one';
 *
 * registry.register(reductionToOne);
 * await using ops = await registry.create('reduction-to-one');
 * console.log(ops.name); // reduction-to-one
 * ```
 */
export const reductionToOne: Plugin<ReductionToOneOptions> = definePlugin({
  name: 'reduction-to-one',
  module: import.meta.url,
  priority: 10,
  create: (options, world) => new ReductionToOneDevice(options, world),
});
