import { setLogSink } from '@coll/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { alterBit, changeOnce, checksummed } from './altered/alter-bit.ts';
import { endsOver } from './attacked-group.ts';
import { AttackedNetwork, clearPurposes } from './attacked-network.ts';
import { distinguishHosts, restoreHost } from './different-hosts.ts';

const { options, host } = checksummed;

beforeAll(() => {
  distinguishHosts();
  setLogSink(() => {});
});
afterAll(() => {
  restoreHost();
  setLogSink();
});

it('one changed bit on a checksummed connection is an error that names a rank, or changes nothing', async () => {
  const alterations = await Promise.all(Array.from({ length: 24 }, (_, seed) => alterBit(seed, checksummed)));
  expect(alterations.flatMap(({ problems }) => problems)).toEqual([]);
  // Some bits are never reached, and some belong to a handshake that is made again.
  const failed = alterations.filter(({ outcome }) => outcome === 'error on both ranks');
  expect(failed.length).toBeGreaterThan(12);
});

it('connects again if the ticket that a member sends was changed', async () => {
  const network = new AttackedNetwork(host);
  // Before the ticket, a request has two numbers behind its first eight bytes.
  const change = changeOnce(network, { purpose: clearPurposes.data, end: 0, at: 16, bit: 1 });
  expect(await endsOver(network, { ...options, streams: 1 })).toEqual([{}, {}]);
  expect(change).toEqual({ isMade: true });
  expect(network.about(clearPurposes.data)).toHaveLength(2);
});

it('fails on both ranks at once if the answer to a ticket was changed', async () => {
  const network = new AttackedNetwork(host);
  changeOnce(network, { purpose: clearPurposes.data, end: 1, at: 0, bit: 1 });
  // Only the answer ends the opening of the connection before the test has taken too long.
  const ends = await endsOver(network, { ...options, timeoutSeconds: 600 });
  const text = /rank 1 on .* cannot open a data connection with rank 0 at .*: the answer is not that of this rank/;
  const failed = { error: { code: 'ERR_COLL_PEER_FAILED', message: expect.stringMatching(text) } };
  expect(ends).toMatchObject([failed, failed]);
});

it('members on different hosts with insecure: true use checksums, and say so', async () => {
  const network = new AttackedNetwork(host);
  const lines: string[] = [];
  setLogSink((_, message) => lines.push(message));
  const groups = await Promise.all(network.open(options));
  const large = new Float32Array(100_000).fill(7);
  const received = [groups[1].receive(0, new Float32Array(100_000)), groups[1].receive(0, new Float32Array(3))];
  await Promise.all([groups[0].send(1, large), groups[0].send(1, Float32Array.of(1, 2, 3))]);
  expect(await Promise.all(received)).toEqual([large, Float32Array.of(1, 2, 3)]);
  for (const group of groups) expect(group.explain().text).toMatch(/over tcp: .*; checksummed, not encrypted$/m);
  expect(lines.join('\n')).toMatch(/group opened: .*; tcp, checksummed;/);
  await Promise.all(groups.map((group) => group.close()));
  network.close();
});
