import { coresTogether } from './cores.js';
import { isSameHost } from './host.js';
import { hostOf, type PeerInfo } from './peer-info.js';

/** A member's index among the members of its machine that may use the same cores. */
export interface LocalRank {
  readonly number: number;
  readonly ranks: number;
  /**
   * Number of cores for the members of one machine that may use the same cores; 0 if they have less
   * than one core.
   */
  readonly cores: number;
}

/**
 * The index of a member among the members of its machine that may use the same cores, and the
 * number of cores for these members. Members in containers of one machine share its cores;
 * launchers often give each process cores of its own.
 */
export function localRankOf(peers: readonly PeerInfo[], rank: number): LocalRank {
  const own = peers[rank] as PeerInfo;
  const isNear = (info: PeerInfo) =>
    own.bootId === '' ? isSameHost(hostOf(own), hostOf(info)) : info.bootId === own.bootId;
  const near = [...peers.keys()].filter((other) => isNear(peers[other] as PeerInfo));
  const cores = coresTogether(near.map((other) => peers[other] as PeerInfo));
  const alike = near.filter((other) => peers[other]?.coreList === own.coreList);
  const ranks = alike.length;
  return { number: alike.indexOf(rank), ranks, cores: Math.floor((cores * ranks) / near.length) };
}

/**
 * Whether all members run on one host with fewer cores than members. False if members run in
 * different containers, because messages between containers may take arbitrarily long.
 */
export function doAllShareCores(peers: readonly PeerInfo[]): boolean {
  const first = hostOf(peers[0] as PeerInfo);
  const { ranks, cores } = localRankOf(peers, 0);
  return cores < ranks && peers.every((info) => isSameHost(first, hostOf(info)));
}
