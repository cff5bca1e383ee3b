import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { CollError } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import {
  addressOf,
  isLoopback,
  type Membership,
  membersAreLocal,
  membershipFrom,
  reachableAddress,
  storePlace,
  withoutScheme,
} from '@coll/rendezvous/internal';
import type { Check, Line, Place } from './line.js';

/** The addresses of this host. */
export interface AddressFacts {
  readonly hostName: string;
  /** The address of the host's own name; undefined if the name cannot be resolved. */
  readonly nameAddress: string | undefined;
  /** The address at which a member listens, or why there is none. */
  readonly own: { readonly address: string; readonly why: string } | { readonly refused: string };
  /** Whether other hosts have members that must reach this one. */
  readonly isReached: boolean;
  /** The address from which this host reaches others; a loopback address without a network. */
  readonly outside: string;
  /** The network interfaces with addresses for other hosts. */
  readonly interfaces: readonly string[];
  /** The ports that the system chooses from, such as `32768 to 60999`; undefined if it does not report them. */
  readonly freePorts: string | undefined;
  readonly bound: readonly BoundPort[];
}

/** An attempt to listen at a port. */
export interface BoundPort {
  /** 0 for any free port. */
  readonly port: number;
  /** The code of the error, such as `EADDRINUSE`, if the port could not be bound. */
  readonly refused?: string;
}

/** The address and the ports that a member of a process group would use. */
export const addressCheck: Check = {
  name: 'address',
  examine: async ({ environment }) => addressLines(await findAddresses(environment)),
};

async function findAddresses(environment: Place['environment']): Promise<AddressFacts> {
  const membership = membershipFrom(environment);
  const own = await ownAddress(environment, membership);
  const interfaces = Object.entries(networkInterfaces());
  return {
    hostName: hostname(),
    nameAddress: await lookup(hostname()).then(
      ({ address }) => address,
      () => undefined,
    ),
    own,
    isReached: membership !== undefined && hasOtherHosts(membership),
    outside: await reachableAddress(),
    interfaces: interfaces.filter(([, list]) => list?.some(({ internal }) => !internal)).map(([name]) => name),
    freePorts: freePorts(),
    bound: 'address' in own ? await boundPorts(own.address, environment, membership) : [],
  };
}

/** As in `openProcessGroup` and strategies without the option `host`. */
async function ownAddress(
  environment: Place['environment'],
  membership: Membership | undefined,
): Promise<AddressFacts['own']> {
  const host = environment['COLL_HOST'];
  const announced = membership?.addresses?.[membership.rank];
  try {
    if (host) return { address: await addressOf(host), why: `COLL_HOST=${host}` };
    if (announced !== undefined) {
      const name = hostIn(announced);
      return { address: await addressOf(name), why: `${name} in ${membership?.launcher}` };
    }
    if (!membership) return { address: '127.0.0.1', why: 'for members on this host' };
    const { launcher } = membership;
    if (launcher === 'coll run' || membersAreLocal(membership)) return { address: '127.0.0.1', why: launcher };
    return { address: await reachableAddress(), why: launcher };
  } catch (error) {
    if (error instanceof CollError) return { refused: messageOf(error) };
    throw error;
  }
}

function hostIn(address: string): string {
  return /^\[?([^/]+?)\]?:\d+$/.exec(withoutScheme(address))?.[1] ?? address;
}

function hasOtherHosts(membership: Membership): boolean {
  const { launcher, size = 1, addresses, rank } = membership;
  if (addresses === undefined) return launcher !== 'coll run' && size > 1 && !membersAreLocal(membership);
  const own = hostIn(addresses[rank] ?? '');
  return addresses.map(hostIn).some((host) => host !== own && host !== 'localhost' && !isLoopback(host));
}

async function boundPorts(
  host: string,
  environment: Place['environment'],
  membership: Membership | undefined,
): Promise<readonly BoundPort[]> {
  const listens = membership?.rank === 0 && membership.launcher !== 'coll run' && !environment['COLL_STORE'];
  const isKnown = listens && /:\d+$/.test(membership.coordinator ?? '');
  const ports = isKnown ? [0, storePlace(membership, environment).port] : [0];
  return Promise.all(ports.map((port) => bound(host, port)));
}

async function bound(host: string, port: number): Promise<BoundPort> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return { port };
  } catch (error) {
    return { port, refused: (error as NodeJS.ErrnoException).code ?? messageOf(error) };
  } finally {
    server.close();
  }
}

function freePorts(): string | undefined {
  try {
    const [first, last] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/);
    return `${first} to ${last}`;
  } catch {
    return undefined;
  }
}

export function addressLines(facts: AddressFacts): readonly Line[] {
  const { hostName, nameAddress, bound: _, freePorts: __, ...data } = facts;
  const text =
    nameAddress === undefined
      ? `${hostName}, which does not resolve to an address`
      : `${hostName} resolves to ${nameAddress}`;
  const lines: readonly Line[] = [
    { name: 'host name', text, data: { hostName, address: nameAddress } },
    { ...addressLine(facts), data },
  ];
  return 'address' in facts.own ? [...lines, portsLine(facts, facts.own.address)] : lines;
}

function addressLine({ own, isReached, outside, interfaces }: AddressFacts): Line {
  const name = 'address';
  const [first = 'lo', ...others] = interfaces;
  if ('refused' in own) {
    const another = others.length > 0 ? `, or another of ${others.join(', ')}` : '';
    return { name, verdict: 'broken', text: own.refused, cure: `export COLL_HOST=${first}${another}` };
  }
  const { address, why } = own;
  if (isReached && isLoopback(address)) {
    const text = `${address} (${why}), which other hosts cannot reach`;
    return { name, verdict: 'broken', text, cure: `export COLL_HOST=${first} on this host` };
  }
  const elsewhere = isLoopback(outside) ? 'this host has no network' : `the address towards other hosts is ${outside}`;
  const text = isLoopback(address) ? `${address} (${why}); ${elsewhere}` : `${address} (${why})`;
  return { name, verdict: 'ok', text };
}

function portsLine({ bound: ports, freePorts: range }: AddressFacts, address: string): Line {
  const line = { name: 'ports', data: { ports, freePorts: range } };
  const failed = ports.find(({ refused }) => refused !== undefined);
  if (failed) {
    const what = failed.port === 0 ? 'no port can' : `port ${failed.port} cannot`;
    const why = reasons[failed.refused ?? ''] ?? failed.refused;
    return { ...line, verdict: 'broken', text: `${what} be bound at ${address}: ${why}`, cure: cureOf(failed) };
  }
  const fixed = ports.find(({ port }) => port !== 0);
  const all = range === undefined ? 'any free port' : `any free port from ${range}`;
  return { ...line, verdict: 'ok', text: fixed ? `${fixed.port} for the store, and ${all}` : all };
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'it is in use',
  EACCES: 'this user may not use it',
  EADDRNOTAVAIL: 'this host does not have the address',
};

function cureOf({ port, refused }: BoundPort): string {
  if (refused === 'EADDRINUSE') return `end the program that uses the port (ss -ltnp 'sport = :${port}' shows it)`;
  if (refused === 'EACCES') return 'choose a port above 1023';
  if (refused === 'EADDRNOTAVAIL') return 'set COLL_HOST to an address or interface of this host';
  return 'allow programs to listen: a sandbox or security policy forbids it';
}
