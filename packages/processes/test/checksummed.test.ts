import { CollError, setLogSink } from '@coll/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { controlChannel, messageChannel } from '../src/hello.js';
import type { OpenedProcessGroup } from '../src/index.js';
import { AttackedNetwork } from './attacked-network.ts';
import { distinguishHosts, restoreHost } from './different-hosts.ts';
import { ownAddress } from './distant-store.ts';
import { Random } from './faults/random.ts';

const options = { encrypt: 'between-hosts', insecure: true } as const;
const values = new Float32Array(3000).map((_, index) => Math.fround(Math.sin(index)));
const doubled = values.map((value) => value + value);
const purposes = [`channel ${controlChannel}`, 'data', `channel ${messageChannel}`];
// Beyond the handshakes, and in the midst of what calls and messages exchange.
const mostBytes = 2000;
const patience = { timeoutSeconds: 60 };

beforeAll(() => {
  distinguishHosts();
  setLogSink(() => {});
});
afterAll(() => {
  restoreHost();
  setLogSink();
});

/** What one rank gets: all its results are right, or an error. */
async function run(opening: Promise<OpenedProcessGroup>, rank: number): Promise<unknown> {
  try {
    await using group = await opening;
    for (let call = 0; call < 3; call++) {
      const sums = await group.allReduce('sum', values.slice(), patience);
      expect(sums).toEqual(doubled);
    }
    const received = group.receive(1 - rank, new Float32Array(values.length), patience);
    const sent = group.send(1 - rank, values, patience);
    expect((await Promise.all([received, sent]))[0]).toEqual(values);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The error of each rank of a group in which one bit is changed on the way: the seed says which one. */
async function errorsOf(seed: number): Promise<readonly unknown[]> {
  const random = new Random(seed);
  const network = new AttackedNetwork(ownAddress);
  const purpose = purposes[seed % purposes.length] as string;
  const end = random.below(2) as 0 | 1;
  const at = random.below(mostBytes);
  const bit = 1 << random.below(8);
  let isDone = false;
  network.attack = (tapped, from, part) => {
    const place = at - tapped.said[from].length;
    if (isDone || tapped.purpose !== purpose || from !== end || place < 0 || place >= part.length) return part;
    isDone = true;
    const changed = Buffer.from(part);
    changed[place] = (changed[place] as number) ^ bit;
    return changed;
  };
  const openings = network.open({ timeoutSeconds: 60, heartbeatSeconds: 20, ...options });
  const errors = await Promise.all(openings.map((opening, rank) => run(opening, rank)));
  network.close();
  return errors;
}

it('one changed bit on a checksummed connection is an error that names a rank, or changes nothing', async () => {
  const errors = await Promise.all(Array.from({ length: 24 }, (_, seed) => errorsOf(seed)));
  for (const [seed, pair] of errors.entries()) {
    for (const error of pair.filter((error) => error !== undefined)) {
      expect([seed, error]).toEqual([seed, expect.any(CollError)]);
      expect((error as Error).message).toMatch(/rank [01]/);
    }
  }
});

it('members on different hosts with insecure: true use checksums, and say so', async () => {
  const network = new AttackedNetwork(ownAddress);
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
