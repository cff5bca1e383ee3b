import type { ReduceOp } from '../collectives/reduce-op.js';
import type { ProbeResult } from '../engines/engine.js';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import type { DType } from '../values/dtype.js';
import type { World } from './world.js';

/** The version of this contract. A plug-in of another version is refused at registration. */
export const pluginApiVersion = 1;

/** What `'auto'` asks a plug-in for. Absent fields mean that nothing special is needed. */
export interface Situation {
  readonly devices: readonly string[];
  readonly dtypes?: readonly DType[];
  readonly ops?: readonly ReduceOp[];
  /** The ranks live in threads or processes of their own, so that the plug-in has to be loaded there by its `module`. */
  readonly isolated?: boolean;
}

/** What a plug-in can do at all. Absent fields mean: everything, but for `severalTasks` and `severalProcesses`. */
export interface Capabilities {
  /** Device types, upper-case: `CPU`, `GPU`. */
  readonly devices?: readonly string[];
  readonly dtypes?: readonly DType[];
  readonly ops?: readonly ReduceOp[];
  readonly maxRanks?: number;
  /** Whether it tells the devices of several tasks (workers) from each other. Absent: no, and strategies give it those of one task only. */
  readonly severalTasks?: boolean;
  /** Whether its ops serve a world of several processes, each of which hands in the components of its own devices. Absent: no. */
  readonly severalProcesses?: boolean;
}

/**
 * Options of each plug-in by name. Packages add theirs by declaration merging, so that
 * `registry.create('ring', { numPacks: 1 })` is checked:
 *
 *     declare module '@coll/core' { interface CrossDeviceOpsOptionsMap { ring: RingOptions } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declaration merging
export interface CrossDeviceOpsOptionsMap {}

/** A backend, as a plain object. */
export interface Plugin<Options = never> {
  readonly name: string;
  readonly apiVersion: number;
  /** `import.meta.url` of a module that exports this object: other threads and processes load it from there. */
  readonly module: string;
  /** `'auto'` takes the highest. The portable ones have 0 to 100. */
  readonly priority: number;
  readonly capabilities?: Capabilities;
  /** Whether it can serve here and now; called by `'auto'` and before creation. Absent: yes. */
  probe?(situation: Situation): ProbeResult | Promise<ProbeResult>;
  /** Cross-device ops, for a world where one is given; otherwise for whatever devices the values have, all of them here. */
  create(options: Options | undefined, world?: World): CrossDeviceOps | Promise<CrossDeviceOps>;
}

/** Checks a plug-in's shape by type; `apiVersion` and `priority` may be left out. */
export function definePlugin<Options = undefined>(
  plugin: Omit<Plugin<Options>, 'apiVersion' | 'priority'> & {
    readonly apiVersion?: number;
    readonly priority?: number;
  },
): Plugin<Options> {
  return Object.freeze({ apiVersion: pluginApiVersion, priority: 0, ...plugin });
}
