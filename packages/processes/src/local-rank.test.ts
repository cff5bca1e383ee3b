import { describe, expect, it } from 'vitest';
import { cardOf, readCard } from './card.js';
import { doAllShareCores, localRankOf } from './local-rank.js';
import { memberOf } from './member.js';

const member = memberOf({ rank: 0, size: 2, jobKey: 'a secret of many letters' });

function cardOn(name: string, bootId: string, coreList = '0-1') {
  const card = readCard(cardOf(member, { name, bootId }, [{ host: '127.0.0.1', port: 4711 }]), 0);
  return { ...card, cores: 8, coreList };
}

describe('localRankOf', () => {
  it('counts those of one machine, whatever their containers are called', () => {
    const [one, two] = [cardOn('a', 'boot 1'), cardOn('a', 'boot 2', '0-7')];
    const cards = [one, two, cardOn('container', 'boot 1', '1-2'), two, two];
    expect(cards.map((_, rank) => localRankOf(cards, rank))).toEqual([
      { number: 0, ranks: 1, cores: 1 },
      { number: 0, ranks: 3, cores: 8 },
      { number: 0, ranks: 1, cores: 1 },
      { number: 1, ranks: 3, cores: 8 },
      { number: 2, ranks: 3, cores: 8 },
    ]);
  });

  it('numbers the ranks of each cpuset by themselves', () => {
    const cards = [0, 1, 2, 3, 4, 5, 6, 7].map((rank) => cardOn('a', 'boot', rank < 4 ? '0-1' : '2-3'));
    const four = [0, 1, 2, 3].map((number) => ({ number, ranks: 4, cores: 2 }));
    expect(cards.map((_, rank) => localRankOf(cards, rank))).toEqual([...four, ...four]);
  });

  it('finds too few cores for all where cpusets overlap', () => {
    const cards = ['0-1', '0-2', '0-1', '0-2'].map((list) => cardOn('a', 'boot', list));
    expect(localRankOf(cards, 0)).toEqual({ number: 0, ranks: 2, cores: 1 });
    expect(localRankOf(cards, 3)).toEqual({ number: 1, ranks: 2, cores: 1 });
  });

  it('goes by names where systems do not tell their boot', () => {
    const cards = [cardOn('a', ''), cardOn('b', ''), cardOn('a', '')];
    expect(cards.map((_, rank) => localRankOf(cards, rank).number)).toEqual([0, 0, 1]);
  });
});

describe('doAllShareCores', () => {
  it('is so on one host with fewer cores than members', () => {
    const [two, one, another] = [cardOn('a', 'boot'), cardOn('a', 'boot', '1'), cardOn('a', 'boot', '4')];
    expect(doAllShareCores([two, two, one])).toBe(true);
    expect(doAllShareCores([two, two])).toBe(false);
    expect(doAllShareCores([two, one, another])).toBe(false);
  });

  it('is not so on several hosts, even if they are one machine', () => {
    expect(doAllShareCores([cardOn('a', 'boot 1', '0'), cardOn('b', 'boot 2', '0')])).toBe(false);
    expect(doAllShareCores([cardOn('a', 'boot', '0'), cardOn('b', 'boot', '0')])).toBe(false);
  });
});
