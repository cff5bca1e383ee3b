import { canonicalize, deviceType, quote, type Registry, ValueError } from '@coll/core';

/** What is known of the devices of this machine. */
export interface DeviceInventory {
  /** The devices there are. Default: all CPU devices, which are logical, and those that a registered plug-in made for their type finds. */
  readonly visibleDevices?: readonly string[];
  /** GPUs in the machine. Where more are visible (without `visibleDevices`: asked for), some are virtual. Default: none is. */
  readonly physicalGpus?: number;
}

/** What is in the way of libraries that need a GPU for each rank; undefined where no GPU is virtual. */
export function virtualGpus(
  devices: readonly string[],
  { visibleDevices = devices, physicalGpus }: DeviceInventory,
): string | undefined {
  if (physicalGpus === undefined) return undefined;
  if (!(Number.isInteger(physicalGpus) && physicalGpus >= 0))
    throw new ValueError('ERR_COLL_VALUE', `physicalGpus is a number of GPUs, not ${quote(physicalGpus)}`);
  const visible = visibleDevices.filter((device) => deviceType(device) === 'GPU').length;
  if (visible <= physicalGpus) return undefined;
  return `some of ${visible} GPUs are virtual, as there are ${physicalGpus} in the machine`;
}

/** Those of the devices, which have their full names, that are not there. */
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

// A plug-in that says nothing of device types has not looked for any.
async function isFound(device: string, registry: Registry): Promise<boolean> {
  const type = deviceType(device);
  if (type === 'CPU') return true;
  const makers = registry.list().filter(({ capabilities }) => capabilities?.devices?.includes(type));
  const answers = await Promise.all(makers.map((plugin) => registry.explain(plugin, { devices: [device] })));
  return answers.some(({ chosen }) => chosen !== undefined);
}
