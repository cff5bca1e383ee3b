import {
  type Candidate,
  type CrossDeviceOps,
  canonicalize,
  type Registry,
  type Resolution,
  registry as sharedRegistry,
  ValueError,
} from '@coll/core';
import { knownOptions, logDeprecated, optionsOf, quote, requireRegistry } from '@coll/core/internal';
import { deviceType, logFirst } from '@coll/core/plugin';
import { reductionToOne } from '@coll/reduction-to-one';
import { type DeviceInventory, invisibleDevices, virtualGpus } from './visible-devices.js';
import { withFallback } from './with-fallback.js';

/** The plug-ins to select from, and the machine. */
export interface SelectionOptions extends DeviceInventory {
  /** The registry to search. Default: the registry of this realm. */
  readonly registry?: Registry;
}

const selectionOptions = knownOptions<SelectionOptions>('selectPlugin', {
  visibleDevices: true,
  physicalGpus: true,
  registry: true,
});

const nccl = 'nccl';

/**
 * The plug-in that TensorFlow's rules select for these devices: `nccl` with one pack if all devices
 * are GPUs that `nccl` serves, otherwise reduction to one device. `candidates` explains for every
 * registered plug-in why it was or was not chosen; each reason against `nccl` is logged once. To
 * choose from all plug-ins by priority, request `'auto'` instead.
 * @throws ValueError for an invalid list of devices or number of GPUs
 *
 * @example
 * ```ts
 * import { setLogSink } from '@coll/core';
 * import { selectPlugin } from '@coll/strategy';
 *
 * setLogSink(() => {}); // without the warning that there are no GPUs
 * const { plugin } = await selectPlugin(['cpu:0', 'cpu:1']);
 * setLogSink();
 * console.log(plugin.name); // reduction-to-one
 * ```
 */
export async function selectPlugin(devices: readonly string[], given?: SelectionOptions): Promise<Resolution> {
  const options = optionsOf(given, '{ registry }', selectionOptions);
  const { registry = sharedRegistry } = options;
  requireRegistry(registry);
  const names = requireDevices(devices);
  const obstacle = await obstacleOf(names, options, registry);
  if (obstacle) logFirst(1, obstacle.why, 'warn', `${obstacle.why}: using ${reductionToOne.name} instead of nccl`);
  const known = withFallback(registry);
  const taken = obstacle ? reductionToOne.name : nccl;
  const request = obstacle ? taken : { name: taken, options: { numPacks: 1 } };
  const { plugin, options: pluginOptions } = await known.resolve(request, { devices: names });
  const reasons = known
    .list()
    .map(({ name, priority }): Candidate => ({ name, priority, ...reasonFor(name, obstacle) }));
  const missing = { name: nccl, priority: 0, ...reasonFor(nccl, obstacle) };
  return { plugin, options: pluginOptions, candidates: known.has(nccl) ? reasons : [missing, ...reasons] };
}

/**
 * Cross-device ops by TensorFlow's rules, as selected by `selectPlugin`.
 * @throws ValueError for an invalid list of devices
 *
 * @example
 * ```ts
 * import { setLogSink } from '@coll/core';
 * import { selectCrossDeviceOps } from '@coll/strategy';
 *
 * setLogSink(() => {}); // without the warning that there are no GPUs
 * await using ops = await selectCrossDeviceOps(['cpu:0', 'cpu:1']);
 * setLogSink();
 * console.log(ops.name); // reduction-to-one
 * ```
 */
export async function selectCrossDeviceOps(
  devices: readonly string[],
  options: SelectionOptions = {},
): Promise<CrossDeviceOps> {
  const { plugin, options: pluginOptions } = await selectPlugin(devices, options);
  return plugin.create(pluginOptions as never);
}

/**
 * Like `selectCrossDeviceOps`. The first use logs a warning.
 * @throws the errors of `selectCrossDeviceOps`
 * @deprecated The old name of `selectCrossDeviceOps`.
 *
 * @example
 * ```ts
 * import { setLogSink } from '@coll/core';
 * import { chooseTheBest } from '@coll/strategy';
 *
 * setLogSink(() => {}); // without the warning that the name is deprecated
 * await using ops = await chooseTheBest(['cpu:0', 'cpu:1']);
 * setLogSink();
 * console.log(ops.name); // reduction-to-one
 * ```
 */
export function chooseTheBest(devices: readonly string[], options: SelectionOptions = {}): Promise<CrossDeviceOps> {
  logDeprecated('chooseTheBest', 'selectCrossDeviceOps');
  return selectCrossDeviceOps(devices, options);
}

/**
 * The reason why nccl is not used. `refused` is set if the probe of nccl failed, or nccl is not
 * registered.
 */
interface Obstacle {
  readonly why: string;
  readonly refused?: string;
}

async function obstacleOf(
  devices: readonly string[],
  inventory: DeviceInventory,
  registry: Registry,
): Promise<Obstacle | undefined> {
  const virtual = virtualGpus(devices, inventory);
  if (virtual) return { why: virtual };
  const invisible = await invisibleDevices(devices, inventory, registry);
  if (invisible.length > 0) {
    const message = `some of the devices are not visible to this process: ${invisible.join(', ')}`;
    logFirst(1, message, 'warn', message);
  }
  const other = devices.find((device) => deviceType(device) !== 'GPU');
  if (other !== undefined) return { why: `${other} is not a GPU` };
  const refused = registry.has(nccl)
    ? (await registry.explain(nccl, { devices })).candidates[0]?.refused
    : `it is not registered: npm install @coll/${nccl}, then import '@coll/${nccl}/register'`;
  return refused === undefined ? undefined : { why: `nccl cannot be used: ${refused}`, refused };
}

function reasonFor(name: string, obstacle: Obstacle | undefined): Pick<Candidate, 'reason' | 'refused'> {
  const { why, refused } = obstacle ?? {};
  if (name === nccl) {
    if (refused !== undefined) return { refused, reason: `refused, because ${refused}` };
    return { reason: why ? `not asked, because ${why}` : 'chosen, because all devices are GPUs, which it supports' };
  }
  if (name === reductionToOne.name)
    return { reason: why ? `chosen, because ${why}` : 'not asked, because nccl supports these devices' };
  return {
    reason: `not asked, because this selection considers only nccl and ${reductionToOne.name}; 'auto' considers all plug-ins`,
  };
}

function requireDevices(devices: unknown): string[] {
  const isList = Array.isArray(devices) && devices.length > 0;
  if (isList && devices.every((device) => typeof device === 'string'))
    return devices.map((device) => canonicalize(device));
  throw new ValueError('ERR_COLL_DEVICE', `devices must be a list such as ['gpu:0', 'gpu:1'], got ${quote(devices)}`);
}
