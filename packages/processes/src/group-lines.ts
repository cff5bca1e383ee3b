import type { Algorithm, Link } from '@coll/core';
import { GroupLog, log, rankList } from '@coll/core/internal';
import { isSameHost } from './host.js';
import type { LocalRank } from './local-rank.js';
import type { MemberConfig } from './member-config.js';
import { type Address, hostOf, type PeerInfo } from './peer-info.js';

/** Logs where a member accepts connections. `dataPort`: 0 if it never uses TCP for data. */
export function logListening({ rank }: MemberConfig, { host, port }: Address, dataPort: number): void {
  const data = dataPort === 0 ? 'no port for data' : `port ${dataPort} for data`;
  const message = `rank ${rank} listens at ${host}, port ${port} for members, ${data}`;
  log('debug', message, { rank, event: 'listening', data: { host, port, dataPort } });
}

/** Warns if members run different releases of their runtime. Releases of this library always agree. */
export function logRuntimes({ rank }: MemberConfig, peers: readonly PeerInfo[]): void {
  const ranksBy: Record<string, number[]> = {};
  for (const [other, { runtime }] of peers.entries()) ranksBy[runtime] = [...(ranksBy[runtime] ?? []), other];
  const runtimes = Object.entries(ranksBy);
  if (runtimes.length === 1) return;
  const where = runtimes.map(([runtime, ranks]) => `${runtime} on ${rankList(ranks)}`).join(', ');
  const message = `members run different runtimes: ${where}; install the same one on all hosts`;
  log(rank === 0 ? 'warn' : 'debug', message, { rank, event: 'runtimes differ', data: { ranksByRuntime: ranksBy } });
}

/**
 * Warns of `insecure: true`: what it gives up if members are on several hosts, or that a group on one
 * host does not need it.
 */
export function logInsecure({ rank, insecure, insecureBy }: MemberConfig, peers: readonly PeerInfo[]): void {
  if (!insecure) return;
  const first = hostOf(peers[0] as PeerInfo);
  const isApart = peers.some((peer) => !isSameHost(first, hostOf(peer)));
  const how = insecureBy === 'COLL_INSECURE' ? 'COLL_INSECURE=1' : 'insecure: true';
  const message = isApart
    ? `${how}: the data between hosts is neither encrypted nor signed, so whoever can reach its packets can read and change it; checksums detect accidents only; without ${how}, it is encrypted`
    : `${how} has no effect on a group whose members are all on one host; leave it out`;
  log(rank === 0 ? 'warn' : 'debug', message, { rank, event: 'insecure', data: { isApart } });
}

/** An open group, from the view of one member. */
export interface GroupOfLines {
  readonly rank: number;
  readonly hosts: readonly string[];
  readonly links: readonly Link[];
  /** How the TCP connections are protected; undefined if they are not. */
  readonly protection: string | undefined;
  readonly simd: string;
  readonly algorithm: Algorithm;
  readonly local: LocalRank;
  /** Whether the group was made by `split`. */
  readonly isPart: boolean;
}

/** Logs that a group has opened. Groups made by `split` log at level debug, because programs may make many. */
export function logOpened({ rank, hosts, links, protection, simd, algorithm, local, isPart }: GroupOfLines): GroupLog {
  const facts = {
    kind: 'processes',
    members: hosts.length,
    hosts,
    transport: transportOf(links, protection),
    engine: 'native',
    simd,
    algorithm: algorithm.name,
    coresPerMember: local.cores / local.ranks,
  } as const;
  return isPart ? new GroupLog(rank, facts, 'debug') : new GroupLog(rank, facts);
}

function transportOf(links: readonly Link[], protection: string | undefined): string {
  const tcp = protection === undefined ? 'tcp' : `tcp, ${protection}`;
  const names = new Set(links.map(({ transport }) => (transport === 'tcp' ? tcp : 'shared memory')));
  return names.size === 0 ? 'no links' : [...names].sort().join(' and ');
}
