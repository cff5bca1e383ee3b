import { CollError, type Link } from '@coll/core';
import type { StoreRendezvous } from '@coll/rendezvous';
import { gatherAuthentic } from './authentic-records.js';
import { isSameHost } from './host.js';
import type { MemberConfig } from './member-config.js';
import { hostOf, type PeerInfo } from './peer-info.js';
import { unsealSecret } from './sealed-secret.js';
import { cipherBetween, isChecksummedBetween, isSealedBetween } from './sealing.js';
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

/** What a member reports about the memory of the others on its host. */
interface Report {
  /** For each rank whose memory this member cannot use, the reason. The other ranks are left out. */
  readonly refused: Readonly<Record<number, string>>;
  /** The thresholds that rank 0 proposes, if it shares memory with all others. */
  readonly proposed?: unknown;
}

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
  const refused: Record<number, string> = {};
  for (const rank of near) {
    const why = openMemory(member, peers[rank] as PeerInfo, rank, segments);
    if (why !== undefined) refused[rank] = why;
  }
  // Marks can be checked once all members have left theirs.
  const marked = member.transport === 'tcp' ? undefined : rendezvous.gather('opened', Buffer.of());
  await Promise.all([marked, connected]);
  for (const rank of near) {
    // Without the mark, the other member has opened different memory.
    if (!segments.hasMark(rank))
      refused[rank] ??=
        `the shared-memory check failed: rank ${rank} did not write to the segment of rank ${member.rank}`;
  }
  const sharesWithAll = near.length === peers.length - 1 && Object.keys(refused).length === 0;
  const own: Report = member.rank === 0 && sharesWithAll ? { refused, proposed: propose() } : { refused };
  // Also refuses the infos of an earlier opening: their nonces differ from those that others have seen.
  const where = { step: 'links', after: Buffer.from(peers.map(({ nonce }) => nonce).join()) };
  const reports = (await gatherAuthentic(rendezvous, member, where, Buffer.from(JSON.stringify(own)))).map(reportOf);
  const others = [...peers.keys()].filter((rank) => rank !== member.rank);
  const links = others.map((rank) => linkBetween(member, peers, rank, reports));
  const areAllShared = areAllOnOneHost(member, peers) && reports.every(refusesNone);
  const areAnyShared = areAllShared ? others.length > 0 : isAnyShared(member, peers, reports);
  if (member.transport === 'shared-memory' && !areAllShared) throw notShared(links);
  return { links, areAllShared, areAnyShared, proposed: reports[0]?.proposed };
}

function areAllOnOneHost({ transport }: MemberConfig, peers: readonly PeerInfo[]): boolean {
  const first = hostOf(peers[0] as PeerInfo);
  return transport !== 'tcp' && peers.every((info) => isSameHost(first, hostOf(info)));
}

function refusesNone(report: Report | undefined): boolean {
  return report !== undefined && Object.keys(report.refused).length === 0;
}

/** Whether any pair of members shares memory. */
function isAnyShared(
  { transport }: MemberConfig,
  peers: readonly PeerInfo[],
  reports: readonly (Report | undefined)[],
): boolean {
  if (transport === 'tcp') return false;
  const areShared = (one: number, other: number) =>
    isSameHost(hostOf(peers[one] as PeerInfo), hostOf(peers[other] as PeerInfo)) &&
    refusalBetween(one, other, reports) === undefined;
  return peers.some((_, one) => peers.some((_, other) => other > one && areShared(one, other)));
}

/** Why two members on one host do not share memory; undefined if they do. */
function refusalBetween(one: number, other: number, reports: readonly (Report | undefined)[]): string | undefined {
  for (const [rank, peer] of [
    [one, other],
    [other, one],
  ] as const) {
    const report = reports[rank];
    if (!report) return `rank ${rank} has sent a report that cannot be parsed`;
    const why = report.refused[peer];
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Opens another rank's memory. Returns the reason if that failed; undefined on success. */
function openMemory(member: MemberConfig, info: PeerInfo, rank: number, segments: SharedSegments): string | undefined {
  const secret = unsealSecret(member, rank, info.memory);
  return secret ? segments.open(rank, secret) : `rank ${rank} has sealed the key of its memory with another job key`;
}

function linkBetween(
  member: MemberConfig,
  peers: readonly PeerInfo[],
  rank: number,
  reports: readonly (Report | undefined)[],
): Link {
  const protection = protectionText(peers, member.rank, rank);
  if (member.transport === 'tcp') {
    return { rank, transport: 'tcp', reason: `the group was opened with transport: tcp${protection}` };
  }
  const [own, info] = [peers[member.rank], peers[rank]] as [PeerInfo, PeerInfo];
  if (!isSameHost(hostOf(own), hostOf(info)))
    return { rank, transport: 'tcp', reason: `on another host, ${info.hostName}${protection}` };
  const why = refusalBetween(member.rank, rank, reports);
  if (why !== undefined)
    return { rank, transport: 'tcp', reason: `on the same host, but its memory cannot be used: ${why}${protection}` };
  return { rank, transport: 'shared-memory', reason: 'on the same host, and both have opened the memory of the other' };
}

function protectionText(peers: readonly PeerInfo[], one: number, other: number): string {
  if (isSealedBetween(peers, one, other)) return `; encrypted by ${cipherBetween(peers, one, other)}`;
  return isChecksummedBetween(peers, one, other) ? '; checksummed, not encrypted' : '';
}

function notShared(links: readonly Link[]): CollError {
  const message = links
    .filter(({ transport }) => transport === 'tcp')
    .map(({ rank, reason }) => `rank ${rank} is ${reason}`);
  const problem = message.length > 0 ? message.join('; ') : "two other members cannot use each other's memory";
  const advice = "use transport: 'auto', which falls back to TCP";
  return new CollError('ERR_COLL_REFUSED', `shared memory was requested, but ${problem}; ${advice}`, {
    operation: 'open a group',
  });
}

/** Decodes a member's report; undefined if it is not valid. */
function reportOf(bytes: Uint8Array): Report | undefined {
  try {
    const value: Partial<Report> | null = JSON.parse(Buffer.from(bytes).toString('utf8'));
    const { refused } = Object(value) as Partial<Report>;
    return typeof refused === 'object' && refused !== null && !Array.isArray(refused) ? (value as Report) : undefined;
  } catch {
    return undefined;
  }
}
