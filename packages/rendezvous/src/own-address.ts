import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

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
    return requireOne(await lookedUp(host));
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

/**
 * The address at which other hosts reach this one: that of `name`, unless the name is unknown here
 * or stands for a loopback address, as the own name of a host does on Debian (127.0.1.1).
 * @param otherwise the address or network interface to use in these cases, or if there is no name;
 * default: that of the route to other networks
 * @throws ValueError unless `otherwise` is an address, name or network interface of this host
 */
export async function reachableAddress(name?: string, otherwise?: string): Promise<string> {
  if (name !== undefined && (isIP(name) !== 0 || name === 'localhost')) return addressOf(name);
  const named = name === undefined ? undefined : await lookedUp(name).catch(() => undefined);
  if (named !== undefined && !isLoopback(named)) return named;
  return otherwise ? addressOf(otherwise) : routedAddress();
}

// Most members have an address already, and are spared the time to load these modules.
async function lookedUp(name: string): Promise<string> {
  const { lookup } = await import('node:dns/promises');
  return (await lookup(name)).address;
}

// An address that documentation uses. Nothing is sent to it.
const elsewhere = '198.51.100.1';

/**
 * The address from which this host reaches other networks, else that of its first interface; a
 * loopback address for a host without a network.
 */
async function routedAddress(): Promise<string> {
  let socket: Socket | undefined;
  try {
    const { createSocket } = await import('node:dgram');
    socket = createSocket('udp4');
    socket.connect(9, elsewhere);
    await once(socket, 'connect');
    return socket.address().address;
  } catch {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
  } finally {
    socket?.close();
  }
}

function fail(message: string, cause?: unknown): ValueError {
  return new ValueError('ERR_COLL_VALUE', message, { operation: 'open a group', cause });
}
