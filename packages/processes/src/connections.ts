import { setMaxListeners } from 'node:events';
import { DeadlineExceededError } from '@coll/core';
import { afterSeconds } from '@coll/core/internal';
import type { StoreRendezvous } from '@coll/rendezvous';
import { connect } from './connect.js';
import { controlChannel, sealedControlChannel } from './hello.js';
import type { Connection, Listener, ListenerOptions } from './listener.js';
import type { MemberConfig } from './member-config.js';
import type { PeerInfo } from './peer-info.js';
import { isSealedBetween } from './sealing.js';

/** The members to connect, and the time limit. */
export interface Mesh extends ListenerOptions {
  readonly peers: readonly PeerInfo[];
  readonly listener: Listener;
  readonly rendezvous: StoreRendezvous;
}

/** The rank and the channel of a connection. */
interface Channel {
  readonly rank: number;
  readonly channel: number;
}

/**
 * Makes a control connection with each rank in `wanted`. Of two members, the one with the lower rank
 * accepts the connection.
 * @throws CollError if a member refuses; DeadlineExceededError that names the members that could
 * not be reached; the reason of the rendezvous's signal if it aborts
 */
export async function connectAll(mesh: Mesh, wanted: readonly number[]): Promise<readonly Connection[]> {
  const { member, rendezvous } = mesh;
  const waiting = new Set(wanted);
  let missed: unknown;
  const onMissed = (why: unknown) => {
    missed = why;
  };
  const over = new AbortController();
  const expire = () => over.abort(tooLate(member, [...waiting], missed));
  const endTimer = afterSeconds(rendezvous.secondsLeft, expire);
  const signal = AbortSignal.any([over.signal, rendezvous.signal]);
  // One listener per connection; Node.js warns of more than ten.
  setMaxListeners(0, signal);
  const made = await Promise.allSettled(
    wanted.map(async (rank) => {
      try {
        const channel = isSealedBetween(mesh.peers, member.rank, rank) ? sealedControlChannel : controlChannel;
        const connection = await connectOne(mesh, { rank, channel }, signal, onMissed);
        waiting.delete(rank);
        return connection;
      } catch (error) {
        // One failed connection aborts the others.
        over.abort(error);
        throw error;
      }
    }),
  );
  endTimer();
  const connections = made.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
  if (waiting.size === 0) return connections;
  throw signal.reason;
}

/**
 * Makes one connection to a peer.
 * @throws CollError if the peer refuses it; the signal's reason if the signal aborts
 */
export function connectOne(
  mesh: Omit<Mesh, 'meeting'>,
  { rank, channel }: Channel,
  signal: AbortSignal,
  onMissed: (why: unknown) => void,
): Promise<Connection> {
  const { member, peers, listener, secret, sockets } = mesh;
  if (rank > member.rank) return listener.accept(rank, channel, signal);
  const { addresses } = peers[rank] as PeerInfo;
  return connect({ member, secret, sockets, rank, addresses, channel, signal, onMissed });
}

function tooLate(
  { rank, timeoutSeconds: seconds }: MemberConfig,
  waiting: readonly number[],
  cause: unknown,
): DeadlineExceededError {
  const message = `rank ${rank} waited ${seconds} seconds for connections with the other members: rank ${waiting.join(', ')} could not be reached`;
  // For example, too many open files in this process.
  const why = cause instanceof Error ? `; the last attempt failed: ${cause.message}` : '';
  return new DeadlineExceededError('ERR_COLL_DEADLINE', `${message}${why}`, {
    rank,
    ranks: waiting,
    operation: 'open a group',
    cause,
  });
}
