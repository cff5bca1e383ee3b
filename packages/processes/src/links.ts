import { CollError, type Link } from '@coll/core';
import type { StoreRendezvous } from '@coll/rendezvous';
import type { Connection } from './listener.js';
import type { MemberConfig } from './member-config.js';
import type { PeerInfo } from './peer-info.js';
import { ranksToShareWith, type SharedSegments } from './shared-memory.js';

/** How each pair of members of a group exchanges data. */
export interface Links {
  readonly links: readonly Link[];
  /** Whether every pair of members shares memory. */
  readonly areAllShared: boolean;
}

/**
 * For each rank whose memory a member tried to open: the reason for the failure, or null for
 * success.
 */
type Found = Readonly<Record<number, string | null>>;

/**
 * Finds the pairs that share memory: each member opens the other's memory, writes a mark there, and
 * checks whether its own memory has the other's mark. All members get the same result.
 * @throws CollError if shared memory was requested and does not work
 */
export async function findLinks(
  member: MemberConfig,
  peers: readonly PeerInfo[],
  connections: readonly Connection[],
  segments: SharedSegments,
  rendezvous: StoreRendezvous,
): Promise<Links> {
  const near = ranksToShareWith(member, peers);
  const opened: Record<number, string | null> = {};
  for (const { rank, secret } of connections) {
    if (near.includes(rank)) opened[rank] = segments.open(rank, secret) ?? null;
  }
  await rendezvous.gather('opened', Buffer.from(JSON.stringify(opened)));
  // Without the mark, the other member has opened different memory.
  for (const rank of near) {
    if (opened[rank] === null && !segments.hasMark(rank))
      opened[rank] = `the shared-memory check failed: rank ${rank} did not write to the segment of rank ${member.rank}`;
  }
  const all = (await rendezvous.gather('links', Buffer.from(JSON.stringify(opened)))).map(foundOf);
  const links = connections.map(({ rank }) => linkBetween(member, peers, rank, all));
  const areAllShared =
    member.transport !== 'tcp' &&
    peers.every((_, rank) => peers.every((_, other) => other === rank || all[rank]?.[other] === null));
  if (member.transport === 'shared-memory' && !areAllShared) throw notShared(links);
  return { links, areAllShared };
}

function linkBetween(member: MemberConfig, peers: readonly PeerInfo[], rank: number, all: readonly Found[]): Link {
  const own = all[member.rank]?.[rank];
  const other = all[rank]?.[member.rank];
  if (own === null && other === null) {
    return {
      rank,
      transport: 'shared-memory',
      reason: 'on the same host, and both have opened the memory of the other',
    };
  }
  if (member.transport === 'tcp') return { rank, transport: 'tcp', reason: 'the group was opened with transport: tcp' };
  if (own === undefined) return { rank, transport: 'tcp', reason: `on another host, ${peers[rank]?.hostName}` };
  return { rank, transport: 'tcp', reason: `on the same host, but its memory cannot be used: ${own ?? other}` };
}

function notShared(links: readonly Link[]): CollError {
  const told = links
    .filter(({ transport }) => transport === 'tcp')
    .map(({ rank, reason }) => `rank ${rank} is ${reason}`);
  const problem = told.length > 0 ? told.join('; ') : "two other members cannot use each other's memory";
  const cure = "use transport: 'auto', which falls back to TCP";
  return new CollError('ERR_COLL_REFUSED', `shared memory was requested, but ${problem}; ${cure}`, {
    operation: 'open a group',
  });
}

function foundOf(bytes: Uint8Array): Found {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Found) : {};
  } catch {
    return {};
  }
}
