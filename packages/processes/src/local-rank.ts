import { type Card, hostOf } from './card.js';
import { coresTogether } from './cores.js';
import { isSameHost } from './host.js';
import type { LocalRank } from './process-group.js';

/** Where a member is among those that may share cores with it. Containers of one machine share its cores. */
export function localRankOf(cards: readonly Card[], rank: number): LocalRank {
  const own = cards[rank] as Card;
  const isNear = (card: Card) =>
    own.bootId === '' ? isSameHost(hostOf(own), hostOf(card)) : card.bootId === own.bootId;
  const near = [...cards.keys()].filter((other) => isNear(cards[other] as Card));
  const cores = coresTogether(near.map((other) => cards[other] as Card));
  return { number: near.indexOf(rank), ranks: near.length, cores };
}

/** Whether all members run on one host, with fewer cores than members. Between containers a message may take any time. */
export function doAllShareCores(cards: readonly Card[]): boolean {
  const first = hostOf(cards[0] as Card);
  return cards.every((card) => isSameHost(first, hostOf(card))) && localRankOf(cards, 0).cores < cards.length;
}
