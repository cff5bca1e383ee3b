import { describe, expect, it } from 'vitest';
import { type Card, cardOf, readCard, requireCompatible } from './card.js';
import { ownCores } from './cores.js';
import { memberOf } from './member.js';

const member = memberOf({ rank: 0, size: 2, jobKey: 'a secret of many letters' });
const host = { name: 'host-a', bootId: 'boot-a' };
const card = readCard(cardOf(member, host, [{ host: '127.0.0.1', port: 4711 }]), 0);
const other: Card = { ...card, hostName: 'host-b', addresses: [{ host: '10.0.0.2', port: 4711 }] };
const near: Card = { ...card, addresses: [{ host: '10.0.0.1', port: 4711 }] };

describe('cards', () => {
  it('say what a member is, and no secret', () => {
    expect(card).toEqual({
      addresses: [{ host: '127.0.0.1', port: 4711 }],
      hostName: 'host-a',
      bootId: 'boot-a',
      ...ownCores(),
      insecure: false,
      transport: 'auto',
      streams: 'auto',
      heartbeatSeconds: 5,
    });
  });

  it.each([
    ['no JSON', 'hello'],
    ['nothing', 'null'],
    ['a part', JSON.stringify({ ...card, bootId: undefined })],
    ['a port that is none', JSON.stringify({ ...card, addresses: [{ host: 'a', port: 70_000 }] })],
    ['an address that is none', JSON.stringify({ ...card, addresses: [null] })],
    ['streams that are none', JSON.stringify({ ...card, streams: 'many' })],
    ['more addresses than a host has', JSON.stringify({ ...card, addresses: Array(17).fill(card.addresses[0]) })],
    ['a name of any length', JSON.stringify({ ...card, hostName: 'x'.repeat(256) })],
    ['a host name that is none', JSON.stringify({ ...card, hostName: 5 })],
    ['a boot of any length', JSON.stringify({ ...card, bootId: 'x'.repeat(256) })],
    ['an address without a host', JSON.stringify({ ...card, addresses: [{ host: 5, port: 4711 }] })],
    ['an address of any length', JSON.stringify({ ...card, addresses: [{ host: 'x'.repeat(256), port: 4711 }] })],
    ['half a port', JSON.stringify({ ...card, addresses: [{ host: 'a', port: 1.5 }] })],
    ['a port in words', JSON.stringify({ ...card, addresses: [{ host: 'a', port: '4711' }] })],
    ['port 0', JSON.stringify({ ...card, addresses: [{ host: 'a', port: 0 }] })],
    ['port 65536', JSON.stringify({ ...card, addresses: [{ host: 'a', port: 65_536 }] })],
    ['one bad address', JSON.stringify({ ...card, addresses: [card.addresses[0], { host: 'a', port: 0 }] })],
    ['addresses that are no list', JSON.stringify({ ...card, addresses: 'a:1' })],
    ['half a stream', JSON.stringify({ ...card, streams: 1.5 })],
    ['a transport that is none', JSON.stringify({ ...card, transport: 'mail' })],
    ['a strange consent', JSON.stringify({ ...card, insecure: 1 })],
    ['a heartbeat in words', JSON.stringify({ ...card, heartbeatSeconds: '5' })],
    ['no cores', JSON.stringify({ ...card, cores: 0 })],
    ['no address', JSON.stringify({ ...card, addresses: [] })],
  ])('of %s are refused', (_, text) => {
    const details = { code: 'ERR_COLL_STORE', rank: 3, operation: 'open a group' };
    expect(() => readCard(Buffer.from(text), 3)).toThrow(expect.objectContaining(details));
  });

  it.each<[string, object]>([
    ['the longest names', { hostName: 'x'.repeat(255), bootId: 'x'.repeat(255) }],
    ['no boot', { bootId: '' }],
    ['as many addresses as a host has', { addresses: Array(16).fill(card.addresses[0]) }],
    ['the first and the last port', { addresses: [1, 65_535].map((port) => ({ host: 'a', port })) }],
    ['the longest address', { addresses: [{ host: 'x'.repeat(255), port: 1 }] }],
    ['a number of streams', { streams: 4 }],
    ['another transport', { transport: 'tcp', insecure: true, heartbeatSeconds: 0.5 }],
  ])('with %s are read', (_, more) => {
    expect(readCard(Buffer.from(JSON.stringify({ ...card, ...more })), 3)).toEqual({ ...card, ...more });
  });
});

describe('requireCompatible', () => {
  const refused = (cards: readonly Card[], rank: number, message: RegExp) =>
    expect(() => requireCompatible(cards)).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER', rank, operation: 'open a group' },
        message: expect.stringMatching(message),
      }),
    );

  it('lets members of one host be alone', () => {
    requireCompatible([card, card, near]);
  });

  it.each(['transport', 'streams', 'heartbeatSeconds', 'insecure'] as const)('names who has another %s', (setting) => {
    const odd = { ...card, [setting]: 'other' } as unknown as Card;
    refused([card, card, odd], 2, new RegExp(`${setting} is .* on rank 0 and other on rank 2`));
  });

  it('asks for an address that other hosts reach', () => {
    refused(
      [card, other],
      0,
      /rank 0 listens at 127.0.0.1 only, which no other host reaches; open the group with host/,
    );
  });

  it('takes one address that other hosts reach for enough', () => {
    const both = { ...card, insecure: true, addresses: [...card.addresses, ...near.addresses] };
    requireCompatible([both, { ...other, insecure: true }]);
  });

  it('refuses to share memory between hosts, in the same words for all', () => {
    const [one, far] = [near, other].map((each) => ({ ...each, transport: 'shared-memory' as const, insecure: true }));
    expect(() => requireCompatible([one, far] as Card[])).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_REFUSED',
        rank: 1,
        operation: 'open a group',
        message: expect.stringMatching(/^shared memory was asked for, but rank 0 is on host-a, rank 1 on host-b;/),
      }),
    );
  });

  it('refuses to talk in clear between hosts, unless all have said so', () => {
    refused(
      [near, near, other],
      2,
      /rank 0 is on host-a, rank 2 on host-b, .*not encrypted.*insecure: true on all members/,
    );
    requireCompatible([near, other].map((one) => ({ ...one, insecure: true })));
  });
});
