import { CollError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { sealedControlChannel, sealedMessageChannel } from '../src/hello.js';
import type { OpenedProcessGroup } from '../src/index.js';
import { AttackedNetwork } from './attacked-network.ts';
import { Random } from './faults/random.ts';

const values = new Float32Array(3000).map((_, index) => Math.fround(Math.sin(index)));
const doubled = values.map((value) => value + value);
const purposes = [`channel ${sealedControlChannel}`, 'data', `channel ${sealedMessageChannel}`];
// Beyond the handshakes, and in the midst of what calls and messages exchange.
const mostBytes = 2000;
// A record whose length was changed waits for bytes that never come.
const patience = { timeoutSeconds: 20 };

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

describe('one changed bit on an encrypted connection', () => {
  it.each(Array.from({ length: 30 }, (_, seed) => [seed]))(
    'is an error on the ranks, or changes nothing (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      const network = new AttackedNetwork();
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
      try {
        const openings = network.open({ timeoutSeconds: 30, heartbeatSeconds: 5 });
        const errors = await Promise.all(openings.map((opening, rank) => run(opening, rank)));
        for (const error of errors) {
          if (error === undefined) continue;
          expect(error).toBeInstanceOf(CollError);
          expect((error as Error).message).toMatch(/rank [01]/);
        }
      } finally {
        network.close();
      }
    },
  );
});
