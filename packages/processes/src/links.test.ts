import type { StoreRendezvous } from '@coll/rendezvous';
import { describe, expect, it } from 'vitest';
import { withoutProof, withProof } from './authentic-records.js';
import { findLinks } from './links.js';
import { memberOf, type Transport } from './member-config.js';
import { type PeerInfo, peerInfoOf, readPeerInfo } from './peer-info.js';
import { sealSecret } from './sealed-secret.js';
import type { SharedSegments } from './shared-memory.js';

const data = { port: 4712, nonce: Buffer.alloc(32), cipher: 'TLS_AES_128_GCM_SHA256' };

const jobKey = 'tests-only-4kQz9XvB7mLwR2';
const connected = Promise.resolve();

interface Found {
  /** What rank 0 proposes as the thresholds. */
  readonly proposed?: string;
  readonly transport?: Transport;
  /** Host name of each rank. Default: the same for all. */
  readonly hosts?: readonly string[];
  /** By rank: the reason why rank 0 cannot open its memory. */
  readonly refused?: Readonly<Record<number, string>>;
  /** Ranks that have left no mark in the memory of rank 0. */
  readonly unmarked?: readonly number[];
  /** The reports of ranks 1 and 2 as JSON. Default: they opened the memory of all others. */
  readonly others?: readonly string[];
  /** By rank: the rank for which it has sealed the secret of its memory. Default: itself. */
  readonly sealedAs?: readonly number[];
}

/** The links that rank 0 of three finds, and its messages to the other ranks. */
async function find({
  transport = 'auto',
  hosts = ['a', 'a', 'a'],
  refused = {},
  unmarked = [],
  others,
  sealedAs = [],
  proposed,
}: Found) {
  const member = memberOf({ rank: 0, size: 3, jobKey, transport });
  const address = { host: '127.0.0.1', port: 1 };
  const peers = hosts.map((name, rank): PeerInfo => {
    const sealed = sealSecret(member, sealedAs[rank] ?? rank, Buffer.of(rank));
    return readPeerInfo(peerInfoOf(member, { name, bootId: '' }, [address], sealed, data), rank);
  });
  const segments = {
    open: (rank: number, secret: Buffer) => (secret[0] === rank ? refused[rank] : 'another secret'),
    hasMark: (rank: number) => !unmarked.includes(rank),
  } as unknown as SharedSegments;
  const where = { step: 'links', after: Buffer.from(peers.map(({ nonce }) => nonce).join()) };
  const logged: [string, unknown][] = [];
  const rest = others ?? ['{"refused":{}}', '{"refused":{}}'];
  const rendezvous = {
    gather: async (name: string, own: Buffer) => {
      const report = own.length === 0 ? undefined : withoutProof(member, 0, where, own);
      logged.push([name, report && JSON.parse(Buffer.from(report).toString())]);
      return [own, ...rest.map((text, index) => withProof(member, index + 1, where, Buffer.from(text)))];
    },
  } as unknown as StoreRendezvous;
  return { ...(await findLinks(member, peers, segments, rendezvous, connected, () => proposed)), logged };
}

const shared = (rank: number) => ({
  rank,
  transport: 'shared-memory',
  reason: 'on the same host, and both have opened the memory of the other',
});
const tcp = (rank: number, reason: string) => ({ rank, transport: 'tcp', reason });

describe('findLinks', () => {
  it("finds shared memory between members that have opened each other's memory", async () => {
    const { logged, ...found } = await find({});
    expect(found).toEqual({ links: [shared(1), shared(2)], areAllShared: true, areAnyShared: true });
    expect(logged).toEqual([
      ['opened', undefined],
      ['links', { refused: {} }],
    ]);
  });

  it('passes on what rank 0 proposes only if rank 0 shares memory with all others', async () => {
    expect((await find({ proposed: 'sizes' })).proposed).toBe('sizes');
    expect((await find({ proposed: 'sizes', refused: { 2: 'no file' } })).proposed).toBeUndefined();
    expect((await find({ proposed: 'sizes', transport: 'tcp' })).proposed).toBeUndefined();
  });

  it('reports why either side cannot use shared memory', async () => {
    const others = ['{"refused":{}}', '{"refused":{"0":"no room"}}'];
    expect(await find({ refused: { 1: 'no file' }, others })).toMatchObject({
      links: [
        tcp(1, 'on the same host, but its memory cannot be used: no file'),
        tcp(2, 'on the same host, but its memory cannot be used: no room'),
      ],
      areAllShared: false,
    });
  });

  it('does not open the memory of a rank with the secret of another rank', async () => {
    const reason = 'rank 1 has sealed the key of its memory with another job key';
    expect((await find({ sealedAs: [0, 2] })).links).toEqual([
      tcp(1, `on the same host, but its memory cannot be used: ${reason}`),
      shared(2),
    ]);
  });

  it('tells the result only to members that are connected', async () => {
    const steps: string[] = [];
    const member = memberOf({ rank: 0, size: 1, jobKey });
    const info = readPeerInfo(
      peerInfoOf(member, { name: 'a', bootId: '' }, [{ host: '127.0.0.1', port: 1 }], '', data),
      0,
    );
    const rendezvous = {
      gather: async (step: string, own: Buffer) => {
        steps.push(step);
        return [own];
      },
    } as unknown as StoreRendezvous;
    const connecting = new Promise<void>((resolve) => setTimeout(() => resolve(void steps.push('connected')), 20));
    await findLinks(member, [info], {} as SharedSegments, rendezvous, connecting);
    expect(steps).toEqual(['opened', 'connected', 'links']);
    const failing = Promise.reject(new Error('no connection'));
    await expect(findLinks(member, [info], {} as SharedSegments, rendezvous, failing)).rejects.toThrow('no connection');
  });

  it('does not use shared memory if the other rank did not write its check value there', async () => {
    const { links, logged } = await find({ unmarked: [1, 2], refused: { 2: 'no file' } });
    const reason = 'the shared-memory check failed: rank 1 did not write to the segment of rank 0';
    expect(links).toEqual([
      tcp(1, `on the same host, but its memory cannot be used: ${reason}`),
      tcp(2, 'on the same host, but its memory cannot be used: no file'),
    ]);
    expect(logged).toEqual([
      ['opened', undefined],
      ['links', { refused: { 1: reason, 2: 'no file' } }],
    ]);
  });

  it('uses TCP to a rank on another host, and names that host', async () => {
    const { links, areAllShared, areAnyShared, logged } = await find({ hosts: ['a', 'b', 'a'] });
    expect([links, areAllShared, areAnyShared]).toEqual([
      [tcp(1, 'on another host, b; encrypted by TLS_AES_128_GCM_SHA256'), shared(2)],
      false,
      true,
    ]);
    expect(logged).toEqual([
      ['opened', undefined],
      ['links', { refused: {} }],
    ]);
  });

  it('uses no shared memory with transport: tcp', async () => {
    const reason = 'the group was opened with transport: tcp';
    expect(await find({ transport: 'tcp' })).toEqual({
      links: [tcp(1, reason), tcp(2, reason)],
      areAllShared: false,
      areAnyShared: false,
      logged: [['links', { refused: {} }]],
    });
  });

  it.each([
    ['tcp', false],
    ['auto', true],
  ] as const)('finds shared memory for a single member with transport %s: %s', async (transport, areAllShared) => {
    const member = memberOf({ rank: 0, size: 1, jobKey, transport });
    const info = readPeerInfo(
      peerInfoOf(member, { name: 'a', bootId: '' }, [{ host: '127.0.0.1', port: 1 }], '', data),
      0,
    );
    const rendezvous = { gather: async (_: string, own: Buffer) => [own] } as unknown as StoreRendezvous;
    const found = await findLinks(member, [info], {} as SharedSegments, rendezvous, connected);
    expect(found).toEqual({ links: [], areAllShared, areAnyShared: false });
  });

  it.each(['5', 'null', '"text"', '{', '[]', '{}', '{"refused":null}', '{"refused":[]}'])(
    'uses TCP to a rank that sends the invalid report %s',
    async (text) => {
      const { links, areAllShared, areAnyShared } = await find({ others: [text, '{"refused":{}}'] });
      const reason = 'on the same host, but its memory cannot be used: rank 1 has sent a report that cannot be parsed';
      expect([links, areAllShared, areAnyShared]).toEqual([[tcp(1, reason), shared(2)], false, true]);
    },
  );

  it('finds that no pair shares memory', async () => {
    const others = ['{"refused":{"2":"no room"}}', '{"refused":{}}'];
    const found = await find({ refused: { 1: 'no file', 2: 'no file' }, others });
    expect(found).toMatchObject({ areAllShared: false, areAnyShared: false });
    const hosts = ['a', 'b', 'c'];
    expect(await find({ hosts })).toMatchObject({ areAllShared: false, areAnyShared: false });
    expect(await find({ hosts: ['a', 'b', 'b'] })).toMatchObject({ areAllShared: false, areAnyShared: true });
  });

  it('throws if requested shared memory is not available', async () => {
    const refused = { name: 'CollError', code: 'ERR_COLL_REFUSED', operation: 'open a group' };
    const transport = 'shared-memory';
    await expect(find({ transport, refused: { 1: 'no file', 2: 'no room' } })).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(
        /^shared memory was requested, but rank 1 is on the same host, .*: no file; rank 2 is on .*: no room; use transport: 'auto', which falls back to TCP$/,
      ),
    });
    const others = ['{"refused":{"2":"no file"}}', '{"refused":{}}'];
    await expect(find({ transport, others })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("but two other members cannot use each other's memory;"),
    });
    expect((await find({ transport })).areAllShared).toBe(true);
    expect((await find({ others })).areAllShared).toBe(false);
  });
});
