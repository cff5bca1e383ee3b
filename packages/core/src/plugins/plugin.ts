import type { ReduceOp } from '../collectives/reduce-op.js';
import type { World } from '../engines/world.js';
import type { ProcessGroup } from '../members/process-group.js';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import type { ProbeResult } from '../runtime/engine.js';
import type { DType } from '../values/dtype.js';

/**
 * Version of the plug-in contract. Plug-ins of another version are refused at registration.
 *
 * @example
 * ```ts
 * import { definePlugin } from '@coll/core';
 * import { pluginApiVersion } from '@coll/core/plugin';
 * import { ReductionToOneDevice } from '@coll/reduction-to-one';
 *
 * const mine = definePlugin({
 *   name: 'mine',
 *   module: import.meta.url,
 *   create: () => new ReductionToOneDevice(),
 * });
 * console.log(mine.apiVersion === pluginApiVersion); // true
 * ```
 */
export const pluginApiVersion = 1;

/** The situation that a plug-in must serve. Undefined fields add no requirement. */
export interface Situation {
  readonly devices: readonly string[];
  readonly dtypes?: readonly DType[];
  readonly ops?: readonly ReduceOp[];
  /**
   * Whether the ranks live in threads or processes of their own, which must be able to load the
   * plug-in from its `module`.
   */
  readonly isolated?: boolean;
}

/**
 * The capabilities of a plug-in. An undefined field means no restriction, except for `severalTasks`
 * and `severalProcesses`.
 */
export interface Capabilities {
  /** Device types, upper-case: `CPU`, `GPU`. */
  readonly devices?: readonly string[];
  readonly dtypes?: readonly DType[];
  readonly ops?: readonly ReduceOp[];
  readonly maxRanks?: number;
  /**
   * Whether the plug-in distinguishes the devices of several tasks (workers). Undefined means
   * false; strategies then pass devices of one task only.
   */
  readonly severalTasks?: boolean;
  /**
   * Whether the plug-in's ops serve a world of several processes, each passing the components of
   * its own devices. Undefined means false.
   */
  readonly severalProcesses?: boolean;
}

/**
 * Options of each plug-in by name. Packages add their plug-ins by declaration merging, so that
 * `registry.create('ring', { numPacks: 1 })` is type-checked:
 *
 *     declare module '@coll/core' { interface CrossDeviceOpsOptionsMap { ring: RingOptions } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declaration merging
export interface CrossDeviceOpsOptionsMap {}

/** A backend of cross-device ops, as a plain object. */
export interface Plugin<Options = never> {
  readonly name: string;
  readonly apiVersion: number;
  /** `import.meta.url` of a module that exports this object. Other threads and processes load it from there. */
  readonly module: string;
  /** `'auto'` chooses the plug-in with the highest priority. Portable plug-ins have priorities from 0 to 100. */
  readonly priority: number;
  readonly capabilities?: Capabilities;
  /**
   * Whether the plug-in can serve the situation. Called when `'auto'` chooses, and before ops are
   * created. If the method is missing, the plug-in can always serve.
   */
  probe?(situation: Situation): ProbeResult | Promise<ProbeResult>;
  /**
   * Creates cross-device ops for a world or, without one, for the local devices that hold the
   * values.
   */
  create(options: Options | undefined, world?: World): CrossDeviceOps | Promise<CrossDeviceOps>;
  /**
   * Opens a group of the workers of a strategy, in which this process has the given rank. Returns
   * undefined if the plug-in does not connect them. If the method is missing, the plug-in has no
   * transport between processes. Strategies use the first registered plug-in that returns a group,
   * in the order of priority, and otherwise `@coll/processes`.
   */
  openGroup?(place: { readonly rank: number; readonly size: number }): Promise<ProcessGroup | undefined>;
}

/**
 * Type-checks a plug-in, and returns a frozen copy. The default of `apiVersion` is the current
 * version, and that of `priority` is 0.
 *
 * @example
 * ```ts
 * import { createRegistry, definePlugin } from '@coll/core';
 * import { ReductionToOneDevice } from '@coll/reduction-to-one';
 *
 * export const mine = definePlugin({
 *   name: 'mine',
 *   module: import.meta.url,
 *   capabilities: { devices: ['CPU'] },
 *   create: () => new ReductionToOneDevice(),
 * });
 *
 * const registry = createRegistry();
 * registry.register(mine);
 * console.log(registry.has('mine')); // true
 * ```
 */
export function definePlugin<Options = undefined>(
  plugin: Omit<Plugin<Options>, 'apiVersion' | 'priority'> & {
    readonly apiVersion?: number;
    readonly priority?: number;
  },
): Plugin<Options> {
  return Object.freeze({ apiVersion: pluginApiVersion, priority: 0, ...plugin });
}
