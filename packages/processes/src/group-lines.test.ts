import { type LogFields, setLogSink } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { logOpened, logRuntimes } from './group-lines.js';
import { memberOf } from './member-config.js';
import { type PeerInfo, peerInfoOf, readPeerInfo } from './peer-info.js';

const lines: { level: string; message: string; fields: LogFields }[] = [];
beforeEach(() => {
  lines.length = 0;
  setLogSink((level, message, fields) => lines.push({ level, message, fields }));
});
afterEach(() => setLogSink());

const memberAt = (rank: number) => memberOf({ rank, size: 3, jobKey: 'tests-only-4kQz9XvB7mLwR2' });
const info = readPeerInfo(
  peerInfoOf(memberAt(0), { name: 'a', bootId: 'b' }, [{ host: '127.0.0.1', port: 1 }], 'sealed', {
    port: 2,
    nonce: Buffer.alloc(32),
    cipher: 'TLS_AES_128_GCM_SHA256',
  }),
  0,
);
const peers = (...runtimes: string[]): PeerInfo[] => runtimes.map((runtime) => ({ ...info, runtime }));

it('rank 0 warns of members with another runtime, and names the ranks', () => {
  const mixed = peers('Node.js 22.12.0', 'Node.js 20.19.0', 'Node.js 22.12.0');
  logRuntimes(memberAt(0), mixed);
  logRuntimes(memberAt(1), mixed);
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'debug']);
  expect(lines[0]).toMatchObject({
    message:
      'members run different runtimes: Node.js 22.12.0 on ranks 0, 2, Node.js 20.19.0 on rank 1; install the same one on all hosts',
    fields: {
      rank: 0,
      event: 'runtimes differ',
      data: { ranksByRuntime: { 'Node.js 22.12.0': [0, 2], 'Node.js 20.19.0': [1] } },
    },
  });
});

it('nothing is logged if all members have the same runtime', () => {
  logRuntimes(memberAt(0), peers('Node.js 22.12.0', 'Node.js 22.12.0'));
  expect(lines).toEqual([]);
});

it('the line of a group names its hosts and transports; parts of a group log at level debug', () => {
  const group = {
    rank: 0,
    hosts: ['a', 'a', 'b'],
    links: [
      { rank: 1, transport: 'shared-memory', reason: '' },
      { rank: 2, transport: 'tcp', reason: '' },
    ],
    protection: 'encrypted by TLS_AES_128_GCM_SHA256',
    simd: 'avx2',
    algorithm: directAlgorithm(),
    local: { number: 0, ranks: 2, cores: 3 },
  } as const;
  logOpened({ ...group, isPart: false });
  logOpened({ ...group, isPart: true });
  expect(lines.map(({ level }) => level)).toEqual(['info', 'debug']);
  // Other tests of this thread may have started a recorder.
  expect(lines[0]?.message.replace(/; records in .+$/, '')).toBe(
    'group opened: 3 processes on a (2), b (1); shared memory and tcp, encrypted by TLS_AES_128_GCM_SHA256; engine native with avx2; algorithm direct; 1.5 cores per member',
  );
});
