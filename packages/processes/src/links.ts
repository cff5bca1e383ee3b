import { CollError, type Link } from '@coll/core';
import type { StoreRendezvous } from '@coll/rendezvous';
import type { MemberConfig } from './member-config.js';
import type { PeerInfo } from './peer-info.js';
import { unsealSecret } from './sealed-secret.js';
import { ranksToShareWith, type SharedSegments } from './shared-memory.js';

/** How each pair of members of a group exchanges data. */
export interface Links {
  readonly links: readonly Link[];
  /** Whether every pair of members shares memory. */
  readonly areAllShared: boolean;
  /** Whether any pair of members shares memory. */
  readonly areAnyShared: boolean;
  /** What rank 0 proposes as the thresholds of the group, as JSON that is not checked yet. */
  readonly proposed: unknown;
}

/**
 * For each rank whose memory a member tried to open: the reason for the failure, or null for
 * success.
 */
type Found = Readonly<Record<number, string | null>>;

/** The last report of a member. That of rank 0 also proposes thresholds, if it shares memory with all others. */
type Report = Found & { readonly proposed?: unknown };

/**
 * Finds the pairs that share memory: each member opens the other's memory, writes a mark there, and
 * checks whether its own memory has the other's mark. All members get the same result, and get it
 * only after `connected` of every member has settled.
 * @param propose makes the proposal of rank 0 while the other members wait
 * @throws CollError if shared memory was requested and does not work
 */
export async function findLinks(
  member: MemberConfig,
  peers: readonly PeerInfo[],
  segments: SharedSegments,
  rendezvous: StoreRendezvous,
  connected: Promise<unknown>,
  propose: () => unknown = () => undefined,
): Promise<Links> {
  const near = ranksToShareWith(member, peers);
  const opened: Record<number, string | null> = {};
  for (const rank of near) opened[rank] = openMemory(member, peers[rank] as PeerInfo, rank, segments) ?? null;
  await Promise.all([rendezvous.gather('opened', Buffer.from(JSON.stringify(opened))), connected]);
  // Without the mark, the other member has opened different memory.
  for (const rank of near) {
    if (opened[rank] === null && !segments.hasMark(rank))
      opened[rank] = `the shared-memory check failed: rank ${rank} did not write to the segment of rank ${member.rank}`;
  }
  const sharesWithAll = near.filter((rank) => opened[rank] === null).length === peers.length - 1;
  const report: Report = member.rank === 0 && sharesWithAll ? { ...opened, proposed: propose() } : opened;
  const all = (await rendezvous.gather('links', Buffer.from(JSON.stringify(report)))).map(reportOf);
  const others = [...peers.keys()].filter((rank) => rank !== member.rank);
  const links = others.map((rank) => linkBetween(member, peers, rank, all));
  const areShared = (rank: number, other: number) => all[rank]?.[other] === null && all[other]?.[rank] === null;
  const areAllShared =
    member.transport !== 'tcp' &&
    peers.every((_, rank) => peers.every((_, other) => other === rank || areShared(rank, other)));
  const areAnyShared = peers.some((_, rank) => peers.some((_, other) => areShared(rank, other)));
  if (member.transport === 'shared-memory' && !areAllShared) throw notShared(links);
  return { links, areAllShared, areAnyShared, proposed: all[0]?.proposed };
}

/** Opens another rank's memory. Returns the reason if that failed; undefined on success. */
function openMemory(member: MemberConfig, info: PeerInfo, rank: number, segments: SharedSegments): string | undefined {
  const secret = unsealSecret(member, rank, info.memory);
  return secret ? segments.open(rank, secret) : `rank ${rank} has sealed the key of its memory with another job key`;
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

function reportOf(bytes: Uint8Array): Report {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Report) : {};
  } catch {
    return {};
  }
}
