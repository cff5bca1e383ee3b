import { describe, expect, it } from 'vitest';
import { cardOf, readCard } from './card.js';
import { doAllShareCores, localRankOf } from './local-rank.js';
import { memberOf } from './member.js';

const member = memberOf({ rank: 0, size: 2, jobKey: 'a secret of many letters' });

function cardOn(name: string, bootId: string, cores = 2) {
  const card = readCard(cardOf(member, { name, bootId }, [{ host: '127.0.0.1', port: 4711 }]), 0);
  return { ...card, cores };
}

describe('localRankOf', () => {
  it('counts those of one machine, whatever their containers are called', () => {
    const [one, two] = [cardOn('a', 'boot 1'), cardOn('a', 'boot 2', 8)];
    const cards = [one, two, cardOn('container', 'boot 1', 3), two, two];
    expect(cards.map((_, rank) => localRankOf(cards, rank))).toEqual([
      { number: 0, ranks: 2, cores: 2 },
      { number: 0, ranks: 3, cores: 8 },
      { number: 1, ranks: 2, cores: 3 },
      { number: 1, ranks: 3, cores: 8 },
      { number: 2, ranks: 3, cores: 8 },
    ]);
  });

  it('goes by names where systems do not tell their boot', () => {
    const cards = [cardOn('a', ''), cardOn('b', ''), cardOn('a', '')];
    expect(cards.map((_, rank) => localRankOf(cards, rank).number)).toEqual([0, 0, 1]);
  });
});

describe('doAllShareCores', () => {
  it('is so on one host with fewer cores than members, for any of them', () => {
    const [few, many] = [cardOn('a', 'boot', 2), cardOn('a', 'boot', 3)];
    expect(doAllShareCores([many, few, many])).toBe(true);
    expect(doAllShareCores([many, many, many])).toBe(false);
    expect(doAllShareCores([few, few])).toBe(false);
  });

  it('is not so on several hosts, even if they are one machine', () => {
    expect(doAllShareCores([cardOn('a', 'boot 1', 1), cardOn('b', 'boot 2', 1)])).toBe(false);
    expect(doAllShareCores([cardOn('a', 'boot', 1), cardOn('b', 'boot', 1)])).toBe(false);
  });
});
