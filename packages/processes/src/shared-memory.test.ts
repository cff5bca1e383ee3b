import { beforeEach, describe, expect, it } from 'vitest';
import { secretBytes } from './hello.js';
import { memberOf } from './member-config.js';
import { type PeerInfo, peerInfoOf, readPeerInfo } from './peer-info.js';
import type { ProcessBinding } from './process-binding.js';
import { ranksToShareWith, SharedSegments } from './shared-memory.js';

const data = { port: 4712, nonce: Buffer.alloc(32), cipher: 'TLS_AES_128_GCM_SHA256' };

const jobKey = 'tests-only-4kQz9XvB7mLwR2';
const member = memberOf({ rank: 1, size: 3, jobKey, maxBytes: 1000 });
const secretOf = (first: number) => Buffer.alloc(secretBytes, first);

let asked: unknown[];
let refused: Error | undefined;

/** A test double of native code, which uses the secret of a segment as its handle. */
const binding = {
  segment(maxBytes: number, ranks: number) {
    asked.push(['segment', maxBytes, ranks]);
    if (refused) throw refused;
    return ['own', secretOf(7)];
  },
  openSegment(info: Uint8Array, rank: number) {
    asked.push(['open', info[0], rank]);
    if (info[0] === 9) throw new Error('no such file');
    return `segment ${info[0]}`;
  },
  hasMark(segment: unknown, rank: number) {
    if (segment === undefined) throw new TypeError('a segment is needed');
    return segment === 'own' && rank === 0;
  },
  makeRings(segment: unknown, size: number) {
    asked.push(['rings', segment, size]);
    if (refused) throw refused;
  },
  sharedMemory(rank: number, segments: unknown[]) {
    if (refused) throw refused;
    return [rank, ...segments];
  },
  releaseSegment: (segment: unknown) => asked.push(['release', segment]),
} as unknown as ProcessBinding;

beforeEach(() => {
  asked = [];
  refused = undefined;
});

describe('the shared-memory segments of a member', () => {
  it('are opened on other members by their secrets, and released once', () => {
    const segments = new SharedSegments(binding, member, true);
    expect(segments.secret).toEqual(secretOf(7));
    expect([segments.open(0, secretOf(1)), segments.open(2, secretOf(3))]).toEqual([undefined, undefined]);
    expect([segments.hasMark(0), segments.hasMark(2)]).toEqual([true, false]);
    expect(segments.join()).toEqual([1, 'segment 1', 'own', 'segment 3']);
    segments.release();
    segments.release();
    expect(asked).toEqual([
      ['segment', 1000, 3],
      ['open', 1, 1],
      ['open', 3, 1],
      ['release', 'segment 1'],
      ['release', 'own'],
      ['release', 'segment 3'],
    ]);
    expect(segments.hasMark(0)).toBe(false);
  });

  it('are not created if no other member is to share memory', () => {
    const segments = new SharedSegments(binding, member, false);
    expect(segments.secret).toEqual(Buffer.alloc(secretBytes));
    expect(segments.hasMark(0)).toBe(false);
    expect(segments.makeRings([0], 3)).toEqual([undefined, undefined, undefined]);
    segments.release();
    expect(asked).toEqual([]);
  });

  it('report why the segments of this rank could not be created', () => {
    refused = new Error('no room in /dev/shm');
    const segments = new SharedSegments(binding, member, true);
    expect(segments.secret).toEqual(Buffer.alloc(secretBytes));
    expect(segments.open(0, secretOf(1))).toBe('no room in /dev/shm');
    expect(asked).toEqual([['segment', 1000, 3]]);
  });

  it('report why the segments of another rank cannot be opened', () => {
    const segments = new SharedSegments(binding, member, true);
    expect(segments.open(0, secretOf(0))).toBe('rank 0 has no memory segment to share');
    expect(segments.open(2, secretOf(9))).toBe('no such file');
    const oneByte = Buffer.alloc(secretBytes);
    oneByte[0] = 1;
    expect(segments.open(2, oneByte)).toBeUndefined();
  });

  it('contain the ring buffers of two ranks in the memory of the lower rank', () => {
    const segments = new SharedSegments(binding, member, true);
    for (const rank of [0, 2]) segments.open(rank, secretOf(rank + 1));
    expect(segments.makeRings([0, 2], 3)).toEqual(['segment 1', undefined, 'own']);
    expect(segments.makeRings([2], 3)).toEqual([undefined, undefined, 'own']);
    expect(asked.slice(3)).toEqual([
      ['rings', 'own', 3],
      ['rings', 'own', 3],
    ]);
    asked = [];
    expect(segments.makeRings([], 3)).toEqual([undefined, undefined, undefined]);
    expect(asked).toEqual([]);
  });

  it.each(['makeRings', 'join'] as const)('report what to change if their memory is used up: %s', (method) => {
    const segments = new SharedSegments(binding, member, true);
    refused = new Error('no room');
    expect(() => segments[method]([0], 3)).toThrow(
      expect.objectContaining({
        ...{ name: 'CollError', code: 'ERR_COLL_BUFFER', operation: 'open a group', cause: refused },
        message: 'no room; open the group with a larger maxBytes on all members',
      }),
    );
  });
});

it('a member shares memory with members on the same host, unless transport is tcp', () => {
  const peers = ['a', 'a', 'b', 'a'].map((name): PeerInfo => {
    return readPeerInfo(peerInfoOf(member, { name, bootId: '' }, [{ host: '127.0.0.1', port: 1 }], '', data), 0);
  });
  expect(ranksToShareWith(member, peers)).toEqual([0, 3]);
  expect(ranksToShareWith({ ...member, transport: 'shared-memory' }, peers)).toEqual([0, 3]);
  expect(ranksToShareWith({ ...member, transport: 'tcp' }, peers)).toEqual([]);
});
