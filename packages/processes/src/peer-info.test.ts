import { describe, expect, it } from 'vitest';
import { ownCores } from './cores.js';
import { memberOf } from './member-config.js';
import { type PeerInfo, peerInfoOf, readPeerInfo, requireCompatible } from './peer-info.js';

const data = { port: 4712, nonce: Buffer.alloc(32), cipher: 'TLS_AES_128_GCM_SHA256' };

const member = memberOf({ rank: 0, size: 2, jobKey: 'tests-only-4kQz9XvB7mLwR2' });
const host = { name: 'host-a', bootId: 'boot-a' };
const info = readPeerInfo(peerInfoOf(member, host, [{ host: '127.0.0.1', port: 4711 }], 'sealed', data), 0);
const other: PeerInfo = { ...info, hostName: 'host-b', addresses: [{ host: '10.0.0.2', port: 4711 }] };
const near: PeerInfo = { ...info, addresses: [{ host: '10.0.0.1', port: 4711 }] };

describe('the peer info that a member publishes', () => {
  it('contains what peers need', () => {
    expect(info).toEqual({
      addresses: [{ host: '127.0.0.1', port: 4711 }],
      dataPort: 4712,
      nonce: Buffer.alloc(32).toString('base64'),
      hostName: 'host-a',
      bootId: 'boot-a',
      memory: 'sealed',
      runtime: `Node.js ${process.versions.node}`,
      ...ownCores(),
      cipher: 'TLS_AES_128_GCM_SHA256',
      encrypt: 'between-hosts',
      insecure: false,
      insecureBy: 'default',
      transport: 'auto',
      streams: 'auto',
      heartbeatSeconds: 5,
    });
  });

  it.each([
    ['text that is not JSON', 'hello'],
    ['nothing', 'null'],
    ['an object without a boot id', JSON.stringify({ ...info, bootId: undefined })],
    ['an impossible data port', JSON.stringify({ ...info, dataPort: 70_000 })],
    ['no data port', JSON.stringify({ ...info, dataPort: undefined })],
    ['a nonce that is too short', JSON.stringify({ ...info, nonce: 'AAAA' })],
    ['no nonce', JSON.stringify({ ...info, nonce: undefined })],
    ['an impossible port', JSON.stringify({ ...info, addresses: [{ host: 'a', port: 70_000 }] })],
    ['an address that is not an object', JSON.stringify({ ...info, addresses: [null] })],
    ['a number of streams that is text', JSON.stringify({ ...info, streams: 'many' })],
    ['more addresses than a host has', JSON.stringify({ ...info, addresses: Array(17).fill(info.addresses[0]) })],
    ['a host name that is too long', JSON.stringify({ ...info, hostName: 'x'.repeat(256) })],
    ['a host name that is not a string', JSON.stringify({ ...info, hostName: 5 })],
    ['a boot id that is too long', JSON.stringify({ ...info, bootId: 'x'.repeat(256) })],
    ['a memory that is not a string', JSON.stringify({ ...info, memory: 5 })],
    ['no runtime', JSON.stringify({ ...info, runtime: undefined })],
    ['a memory that is too long', JSON.stringify({ ...info, memory: 'x'.repeat(256) })],
    ['an address without a host', JSON.stringify({ ...info, addresses: [{ host: 5, port: 4711 }] })],
    ['an address that is too long', JSON.stringify({ ...info, addresses: [{ host: 'x'.repeat(256), port: 4711 }] })],
    ['a fractional port', JSON.stringify({ ...info, addresses: [{ host: 'a', port: 1.5 }] })],
    ['a port that is text', JSON.stringify({ ...info, addresses: [{ host: 'a', port: '4711' }] })],
    ['port 0', JSON.stringify({ ...info, addresses: [{ host: 'a', port: 0 }] })],
    ['port 65536', JSON.stringify({ ...info, addresses: [{ host: 'a', port: 65_536 }] })],
    ['one bad address', JSON.stringify({ ...info, addresses: [info.addresses[0], { host: 'a', port: 0 }] })],
    ['addresses that are not a list', JSON.stringify({ ...info, addresses: 'a:1' })],
    ['a fractional number of streams', JSON.stringify({ ...info, streams: 1.5 })],
    ['an unknown transport', JSON.stringify({ ...info, transport: 'mail' })],
    ['an unknown encryption', JSON.stringify({ ...info, encrypt: 'never' })],
    ['no cipher', JSON.stringify({ ...info, cipher: undefined })],
    ['an insecure flag that is not a boolean', JSON.stringify({ ...info, insecure: 1 })],
    ['a heartbeat that is text', JSON.stringify({ ...info, heartbeatSeconds: '5' })],
    ['no cores', JSON.stringify({ ...info, cores: 0 })],
    ['no address', JSON.stringify({ ...info, addresses: [] })],
  ])('is refused if it contains %s', (_, text) => {
    const details = { code: 'ERR_COLL_STORE', rank: 3, operation: 'open a group' };
    expect(() => readPeerInfo(Buffer.from(text), 3)).toThrow(expect.objectContaining(details));
  });

  it.each<[string, object]>([
    ['the longest names', { hostName: 'x'.repeat(255), bootId: 'x'.repeat(255) }],
    ['no boot id', { bootId: '' }],
    ['no data port', { dataPort: 0 }],
    ['as many addresses as a host has', { addresses: Array(16).fill(info.addresses[0]) }],
    ['the first and the last port', { addresses: [1, 65_535].map((port) => ({ host: 'a', port })) }],
    ['the longest address', { addresses: [{ host: 'x'.repeat(255), port: 1 }] }],
    ['a number of streams', { streams: 4 }],
    ['another transport', { transport: 'tcp', insecure: true, heartbeatSeconds: 0.5 }],
  ])('is accepted if it contains %s', (_, more) => {
    expect(readPeerInfo(Buffer.from(JSON.stringify({ ...info, ...more })), 3)).toEqual({ ...info, ...more });
  });
});

describe('requireCompatible', () => {
  const refused = (peers: readonly PeerInfo[], rank: number, message: RegExp) =>
    expect(() => requireCompatible(peers)).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER', rank, operation: 'open a group' },
        message: expect.stringMatching(message),
      }),
    );

  it('accepts members of one host that listen on loopback only', () => {
    requireCompatible([info, info, near]);
  });

  it.each(['transport', 'streams', 'heartbeatSeconds', 'encrypt', 'insecure'] as const)(
    'names the member whose %s differs',
    (setting) => {
      const odd = { ...info, [setting]: 'other' } as unknown as PeerInfo;
      refused([info, info, odd], 2, new RegExp(`${setting} is .* on rank 0, but other( \\(by default\\))? on rank 2`));
    },
  );

  it('requires an address that other hosts can reach', () => {
    refused(
      [info, other],
      0,
      /rank 0 listens only at 127.0.0.1, which other hosts cannot reach; on each member set host/,
    );
  });

  it('accepts members with at least one reachable address', () => {
    const both = { ...info, addresses: [...info.addresses, ...near.addresses] };
    requireCompatible([both, other]);
  });

  it('refuses shared memory across hosts, with the same message on all members', () => {
    const [one, far] = [near, other].map((each) => ({ ...each, transport: 'shared-memory' as const }));
    expect(() => requireCompatible([one, far] as PeerInfo[])).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_REFUSED',
        rank: 1,
        operation: 'open a group',
        message: expect.stringMatching(/^shared memory was requested, but rank 0 is on host-a, rank 1 on host-b;/),
      }),
    );
  });

  it('refuses members that cannot encrypt what they send between hosts, unless all members set insecure', () => {
    const unable = { ...other, cipher: '', runtime: 'Bun 1.2.3' };
    refused(
      [near, near, unable],
      2,
      /rank 2 runs Bun 1.2.3, which has no TLS with pre-shared keys .*: run all members in Node.js .*insecure: true on all/,
    );
    requireCompatible([near, other]);
    requireCompatible([near, unable].map((one) => ({ ...one, insecure: true })));
    requireCompatible([near, { ...near, cipher: '' }]);
    const always = [near, { ...near, cipher: '' }].map((one) => ({ ...one, encrypt: 'always' as const }));
    refused(always, 1, /rank 1 runs .* has no TLS/);
  });

  it('names what has decided whether traffic may be unencrypted', () => {
    const insecureBy = 'the option insecure, which overrules COLL_INSECURE=1';
    const forbidden = { ...info, insecureBy };
    const allowed = { ...info, insecure: true, insecureBy: 'COLL_INSECURE' };
    refused(
      [forbidden, allowed],
      1,
      /insecure is false \(by the option insecure, .*\) on rank 0, but true \(by COLL_INSECURE\) on rank 1/,
    );
  });
});
