import { canonicalize, DeviceSpec, definePlugin, type Plugin, type ProbeResult, type Situation } from '@coll/core';
import { NcclAllReduce, type NcclAllReduceOptions } from './nccl-all-reduce.js';
import { probe } from './probe.js';

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    nccl: NcclAllReduceOptions;
  }
}

/**
 * All-reduce across NVIDIA GPUs. `'auto'` prefers this plugin to all others if it is available, and
 * skips it silently otherwise.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { nccl } from '@coll/nccl';
 *
 * registry.register(nccl);
 * await using ops = await registry.create('nccl', { numPacks: 2 });
 * console.log(ops.name); // nccl
 * ```
 */
export const nccl: Plugin<NcclAllReduceOptions> = definePlugin({
  name: 'nccl',
  module: import.meta.url,
  priority: 200,
  capabilities: { devices: ['GPU'], severalProcesses: true },
  probe: probeSituation,
  create: (options, world) => new NcclAllReduce(options, world),
});

function probeSituation({ devices, isolated }: Situation): ProbeResult {
  const found = probe();
  if (!found.available) return { available: false, reason: found.reason as string };
  const specs = devices.map((device) => DeviceSpec.fromString(canonicalize(device)).fields);
  const tasks = new Set(specs.map(({ job, task }) => `${job}/${task}`));
  if (isolated && tasks.size < devices.length) {
    const advice = 'run a function instead of a module, or start one process per GPU';
    return refused(`replicas in worker threads of one process cannot use NCCL: ${advice}`);
  }
  // Replicas in separate processes each check their own GPU.
  const missing = isolated ? -1 : specs.findIndex(({ index = 0 }) => index >= found.devices.length);
  if (missing < 0) return { available: true };
  const seen = found.devices.length === 1 ? '1 GPU' : `${found.devices.length} GPUs`;
  return refused(`${devices[missing]} does not exist: this process has ${seen}`);
}

function refused(reason: string): ProbeResult {
  return { available: false, reason };
}
