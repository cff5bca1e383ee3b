import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Identifies a host. Containers with their own host name count as separate hosts, because they may
 * have their own network.
 */
export interface Host {
  readonly name: string;
  /** Changes with every boot of the machine; empty if the system does not report it. */
  readonly bootId: string;
}

/** The host of this process. */
export function thisHost(): Host {
  return { name: hostname(), bootId: bootId() };
}

/** The name and version of the runtime of this process: `Node.js 22.12.0`. */
export function ownRuntime(): string {
  const { bun, deno, node } = process.versions;
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node.js ${node}` : `Deno ${deno}`;
}

/** Whether processes of these hosts may share memory. */
export function isSameHost(a: Host, b: Host): boolean {
  return a.name === b.name && a.bootId === b.bootId;
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
