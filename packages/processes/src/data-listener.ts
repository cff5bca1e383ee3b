import { randomBytes } from 'node:crypto';
import { RuntimeError } from '@coll/core';
import { isSameHost } from './host.js';
import type { MemberConfig } from './member-config.js';
import { hostOf, nonceBytes, type PeerInfo } from './peer-info.js';
import { isChecksummedBetween, isSealedBetween } from './sealing.js';
import type { Sockets } from './sockets.js';
import { streamsTo } from './streams.js';
import { ticketsOf } from './tickets.js';

/** Where a member accepts data connections. They are made when a call first needs them. */
export interface DataListener {
  /** Descriptor of the listening socket in `Sockets`; -1 if this member never uses TCP. */
  readonly socket: number;
  /** The port of the socket; 0 if there is none. */
  readonly port: number;
  /** Makes the tickets of this group different from those of any other. */
  readonly nonce: Buffer;
}

/** What a member needs to connect to the others. */
export interface DataConnections {
  /** The listening socket, which the group takes over. */
  readonly listener: number;
  readonly hosts: readonly string[];
  readonly ports: readonly number[];
  /** For each rank the tickets of all connections with it; none for ranks that share memory. */
  readonly tickets: readonly Uint8Array[];
  /** For each rank, whether the connections with it are sealed. */
  readonly sealed: readonly boolean[];
  /** For each rank, whether the connections with it are checksummed. */
  readonly checksummed: readonly boolean[];
  /** Milliseconds within which the connections with a rank must be made; 0 means no limit. */
  readonly connectMillis: number;
}

/**
 * Starts to listen for data connections.
 * @throws RuntimeError (ERR_COLL_CLUSTER) if this process cannot listen at the address
 */
export function listenForData({ rank, transport }: MemberConfig, host: string, sockets: Sockets): DataListener {
  const nonce = randomBytes(nonceBytes);
  if (transport === 'shared-memory') return { socket: -1, port: 0, nonce };
  try {
    const [socket, port] = sockets.listen(host);
    return { socket, port, nonce };
  } catch (cause) {
    const message = `rank ${rank}: ${(cause as Error).message}; set host to an address or interface of this machine`;
    throw new RuntimeError('ERR_COLL_CLUSTER', message, { cause, operation: 'open a group', rank });
  }
}

/** Prepares data connections with the ranks in `far`, which share no memory with this member. */
export function dataConnections(
  member: MemberConfig,
  peers: readonly PeerInfo[],
  far: readonly number[],
  listener: number,
): DataConnections {
  const nonces = peers.map(({ nonce }) => Buffer.from(nonce, 'base64'));
  const own = hostOf(peers[member.rank] as PeerInfo);
  const sealed = peers.map((_, rank) => rank !== member.rank && isSealedBetween(peers, member.rank, rank));
  const checksummed = peers.map((_, rank) => rank !== member.rank && isChecksummedBetween(peers, member.rank, rank));
  const ticketsWith = (rank: number) => {
    const streams = streamsTo(member, isSameHost(own, hostOf(peers[rank] as PeerInfo)));
    return ticketsOf(member, [member.rank, rank], nonces, streams, sealed[rank] as boolean);
  };
  return {
    listener,
    hosts: peers.map(({ addresses }) => addresses[0]?.host as string),
    ports: peers.map(({ dataPort }) => dataPort),
    tickets: peers.map((_, rank) => (far.includes(rank) ? ticketsWith(rank) : new Uint8Array())),
    sealed,
    checksummed,
    connectMillis: Math.min(Math.ceil((member.timeoutSeconds ?? 0) * 1000), 2 ** 31 - 1),
  };
}
