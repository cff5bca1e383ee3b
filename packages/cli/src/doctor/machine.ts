import { cpus } from 'node:os';
import {
  describeCaches,
  describeCores,
  describeNodes,
  describeQuota,
  findMachine,
  type Machine,
} from '@coll/native/machine';
import { type Check, type Line, unknown } from './line.js';

/** The runtime, and the platform on which it runs. */
export interface SystemFacts {
  /** The version of Node.js, or the one whose interface another runtime has. */
  readonly node: string;
  /** The other runtime, such as `Bun 1.4.5`. */
  readonly runtime?: string | undefined;
  /** The operating system and the architecture, such as `linux x64`. */
  readonly platform: string;
}

/** The version of Node.js, and whether coll supports it. */
export const systemCheck: Check = {
  name: 'system',
  examine: () => [
    systemLine({
      node: process.versions.node,
      runtime: otherRuntime(),
      platform: `${process.platform} ${process.arch}`,
    }),
    { name: 'processor', text: cpus()[0]?.model.trim() || unknown },
  ],
};

/** The cores and caches that this process may use. */
export const machineCheck: Check = { name: 'cores', examine: () => machineLines(findMachine()) };

function otherRuntime(): string | undefined {
  const { bun, deno } = process.versions as { readonly bun?: string; readonly deno?: string };
  return bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`;
}

export function systemLine(facts: SystemFacts): Line {
  const { node, runtime, platform } = facts;
  const line = { name: 'system', text: `${runtime ?? `Node ${node}`}, ${platform}`, data: facts };
  if (runtime !== undefined || isSupported(node)) return { ...line, verdict: 'ok' };
  return { ...line, verdict: 'broken', cure: 'install Node 20.19, 22.12 or newer: https://nodejs.org' };
}

export function machineLines(machine: Machine): readonly Line[] {
  const { nodes, caches, helperThreads, ...cores } = machine;
  return [
    { name: 'cores', text: `${describeCores(machine)}, ${describeQuota(machine)}`, data: cores },
    { name: 'NUMA', text: nodes.length === 0 ? unknown : describeNodes(machine), data: { nodes } },
    { name: 'caches', text: describeCaches(machine).join(', ') || unknown, data: { caches } },
    {
      name: 'helpers',
      text: `up to ${helperThreads} ${helperThreads === 1 ? 'thread' : 'threads'}`,
      data: { helperThreads },
    },
  ];
}

/** The range of `engines` in the manifests of all packages. */
function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
}
