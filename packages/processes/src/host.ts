import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

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

/** Whether processes of these hosts may share memory. */
export function isSameHost(a: Host, b: Host): boolean {
  return a.name === b.name && a.bootId === b.bootId;
}

/**
 * The IP address to listen at, given the option `host`.
 * @throws ValueError unless `host` is an address, name or network interface of this host
 */
export async function addressOf(host: string): Promise<string> {
  if (isIP(host) !== 0) return requireOne(host);
  const info = networkInterfaces()[host];
  if (info) {
    // Link-local addresses need a zone, which differs from host to host.
    const usable = info.filter(({ address }) => !address.startsWith('fe80:'));
    const found = usable.find(({ family }) => family === 'IPv4') ?? usable[0];
    if (found) return found.address;
    throw fail(`the network interface ${host} has no address that other hosts can reach`);
  }
  try {
    return requireOne((await lookup(host)).address);
  } catch (cause) {
    if (cause instanceof ValueError) throw cause;
    const interfaces = Object.keys(networkInterfaces()).join(', ');
    throw fail(
      `host must be an address, a resolvable name, or one of the interfaces ${interfaces}, got ${quote(host)}`,
      cause,
    );
  }
}

/** Whether only processes of this host can reach an address. */
export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}

function requireOne(address: string): string {
  if (address !== '0.0.0.0' && address !== '::') return address;
  throw fail(
    `host ${address} means all addresses: pass the one address, or the interface, at which the other members reach this one`,
  );
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function fail(told: string, cause?: unknown): ValueError {
  return new ValueError('ERR_COLL_VALUE', told, { operation: 'open a group', cause });
}
