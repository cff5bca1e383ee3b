import { type Card, hostOf } from './card.js';
import { coresTogether } from './cores.js';
import { isSameHost } from './host.js';
import type { LocalRank } from './process-group.js';

/**
 * Where a member is among those of its machine that may use the same cores, with their share of the machine's cores. Containers of one machine share
 * its cores; launchers often give each some cores of their own.
 */
export function localRankOf(cards: readonly Card[], rank: number): LocalRank {
  const own = cards[rank] as Card;
  const isNear = (card: Card) =>
    own.bootId === '' ? isSameHost(hostOf(own), hostOf(card)) : card.bootId === own.bootId;
  const near = [...cards.keys()].filter((other) => isNear(cards[other] as Card));
  const cores = coresTogether(near.map((other) => cards[other] as Card));
  const alike = near.filter((other) => cards[other]?.coreList === own.coreList);
  const ranks = alike.length;
  return { number: alike.indexOf(rank), ranks, cores: Math.floor((cores * ranks) / near.length) };
}

/** Whether all members run on one host, with fewer cores than members. Between containers a message may take any time. */
export function doAllShareCores(cards: readonly Card[]): boolean {
  const first = hostOf(cards[0] as Card);
  const { ranks, cores } = localRankOf(cards, 0);
  return cores < ranks && cards.every((card) => isSameHost(first, hostOf(card)));
}
