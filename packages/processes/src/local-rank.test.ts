import { describe, expect, it } from 'vitest';
import { doAllShareCores, localRankOf } from './local-rank.js';
import { memberOf } from './member-config.js';
import { peerInfoOf, readPeerInfo } from './peer-info.js';

const data = { port: 4712, nonce: Buffer.alloc(32), cipher: 'TLS_AES_128_GCM_SHA256' };

const member = memberOf({ rank: 0, size: 2, jobKey: 'tests-only-4kQz9XvB7mLwR2' });

function cardOn(name: string, bootId: string, coreList = '0-1') {
  const info = readPeerInfo(peerInfoOf(member, { name, bootId }, [{ host: '127.0.0.1', port: 4711 }], '', data), 0);
  return { ...info, cores: 8, coreList };
}

describe('localRankOf', () => {
  it('counts the ranks on one machine together, whatever host names its containers have', () => {
    const [one, two] = [cardOn('a', 'boot 1'), cardOn('a', 'boot 2', '0-7')];
    const peers = [one, two, cardOn('container', 'boot 1', '1-2'), two, two];
    expect(peers.map((_, rank) => localRankOf(peers, rank))).toEqual([
      { number: 0, ranks: 1, cores: 1 },
      { number: 0, ranks: 3, cores: 8 },
      { number: 0, ranks: 1, cores: 1 },
      { number: 1, ranks: 3, cores: 8 },
      { number: 2, ranks: 3, cores: 8 },
    ]);
  });

  it('numbers the ranks of each set of CPU cores separately', () => {
    const peers = [0, 1, 2, 3, 4, 5, 6, 7].map((rank) => cardOn('a', 'boot', rank < 4 ? '0-1' : '2-3'));
    const four = [0, 1, 2, 3].map((number) => ({ number, ranks: 4, cores: 2 }));
    expect(peers.map((_, rank) => localRankOf(peers, rank))).toEqual([...four, ...four]);
  });

  it('divides the cores between ranks if their sets of cores overlap', () => {
    const peers = ['0-1', '0-2', '0-1', '0-2'].map((list) => cardOn('a', 'boot', list));
    expect(localRankOf(peers, 0)).toEqual({ number: 0, ranks: 2, cores: 1 });
    expect(localRankOf(peers, 3)).toEqual({ number: 1, ranks: 2, cores: 1 });
  });

  it('compares host names if the system provides no boot id', () => {
    const peers = [cardOn('a', ''), cardOn('b', ''), cardOn('a', '')];
    expect(peers.map((_, rank) => localRankOf(peers, rank).number)).toEqual([0, 0, 1]);
  });
});

describe('doAllShareCores', () => {
  it('is true if all members are on one host with fewer cores than members', () => {
    const [two, one, another] = [cardOn('a', 'boot'), cardOn('a', 'boot', '1'), cardOn('a', 'boot', '4')];
    expect(doAllShareCores([two, two, one])).toBe(true);
    expect(doAllShareCores([two, two])).toBe(false);
    expect(doAllShareCores([two, one, another])).toBe(false);
  });

  it('is false for members on several hosts, even if these are containers of one machine', () => {
    expect(doAllShareCores([cardOn('a', 'boot 1', '0'), cardOn('b', 'boot 2', '0')])).toBe(false);
    expect(doAllShareCores([cardOn('a', 'boot', '0'), cardOn('b', 'boot', '0')])).toBe(false);
  });
});
