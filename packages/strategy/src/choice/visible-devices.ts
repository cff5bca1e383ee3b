import { canonicalize, type Registry, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { deviceType, logFirst } from '@coll/core/plugin';

/** The known devices of this machine. */
export interface DeviceInventory {
  /**
   * The available devices. Default: all CPU devices, because CPU devices are only names, and the
   * devices that registered plug-ins find.
   */
  readonly visibleDevices?: readonly string[];
  /**
   * Number of physical GPUs. If `visibleDevices` (by default: the requested devices) has more GPUs
   * than this, some are virtual. Default: no GPU is virtual.
   */
  readonly physicalGpus?: number;
}

/**
 * Why virtual GPUs prevent the use of a library that needs one GPU per rank; undefined if no GPU is
 * virtual.
 */
export function virtualGpus(
  devices: readonly string[],
  { visibleDevices = devices, physicalGpus }: DeviceInventory,
): string | undefined {
  if (physicalGpus === undefined) return undefined;
  if (!(Number.isInteger(physicalGpus) && physicalGpus >= 0))
    throw new ValueError('ERR_COLL_VALUE', `physicalGpus must be a number of GPUs, got ${quote(physicalGpus)}`);
  const visible = visibleDevices.filter((device) => deviceType(device) === 'GPU').length;
  if (visible <= physicalGpus) return undefined;
  return `some of the ${visible} GPUs are virtual, because the machine has ${physicalGpus}`;
}

/**
 * The full names of the given devices that `visibleDevices` does not list, or, without a list, that
 * no plug-in finds on this machine.
 */
export async function invisibleDevices(
  devices: readonly string[],
  { visibleDevices }: DeviceInventory,
  registry: Registry,
): Promise<readonly string[]> {
  if (visibleDevices) {
    const visible = new Set(visibleDevices.map((device) => canonicalize(device)));
    return devices.filter((device) => !visible.has(device));
  }
  const found = await Promise.all(devices.map((device) => isFound(device, registry)));
  return devices.filter((_, index) => !found[index]);
}

/**
 * Warns once about devices, other than CPUs, that no registered plug-in finds here, because their
 * values are then combined on the CPU. The warning includes the reason and a remedy.
 */
export async function warnOfInvisible(devices: readonly string[], registry: Registry): Promise<void> {
  const invisible = await invisibleDevices(devices, {}, registry);
  if (invisible.length === 0) return;
  const refused = registry.has('nccl')
    ? (await registry.explain('nccl', { devices: invisible })).candidates[0]?.refused
    : undefined;
  const advice = refused
    ? `nccl refused: ${refused}`
    : "for NVIDIA GPUs run npm install @coll/nccl and import '@coll/nccl/register'";
  const message = `no registered plug-in supports ${invisible.join(', ')}, so their values are combined on the CPU`;
  logFirst(1, message, 'warn', `${message}; ${advice}; to use the CPU, pass CPU devices: devices: ['cpu:0', 'cpu:1']`);
}

// A plug-in that lists no device types has not searched for devices.
async function isFound(device: string, registry: Registry): Promise<boolean> {
  const type = deviceType(device);
  if (type === 'CPU') return true;
  const makers = registry.list().filter(({ capabilities }) => capabilities?.devices?.includes(type));
  const answers = await Promise.all(makers.map((plugin) => registry.explain(plugin, { devices: [device] })));
  return answers.some(({ chosen }) => chosen !== undefined);
}
