import { randomBytes } from 'node:crypto';
import { CollError } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import { controlChannel, messageChannel, sealedControlChannel, sealedMessageChannel } from '../src/hello.js';
import type { OpenedProcessGroup } from '../src/index.js';
import { AttackedNetwork } from './attacked-network.ts';

let network = new AttackedNetwork();
afterEach(() => {
  network.close();
  network = new AttackedNetwork();
});

const control = `channel ${sealedControlChannel}`;
const messages = `channel ${sealedMessageChannel}`;
const values = new Float32Array(5000).fill(Math.PI);

async function closeAll(groups: readonly OpenedProcessGroup[]): Promise<void> {
  await Promise.all(groups.map((group) => group.close()));
}

describe('an encrypted group', () => {
  it('computes and sends messages, and shows nothing of them to the network', async () => {
    const groups = await Promise.all(network.open());
    const results = await Promise.all(groups.map((group) => group.allReduce('sum', values.slice())));
    for (const result of results) expect(result[4999]).toBe(Math.fround(2 * Math.fround(Math.PI)));
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const received = groups[to].receive(from, new Float32Array(values.length));
      await groups[from].send(to, values);
      expect(await received).toEqual(values);
    }
    const bytes = Buffer.from(values.buffer).subarray(0, 16);
    const sums = Buffer.from(new Float32Array(4).fill(2 * Math.PI).buffer);
    for (const { purpose, said } of network.connections) {
      for (const clear of [bytes, sums, Buffer.from(network.jobKey)]) {
        for (const direction of said) expect([purpose, direction.includes(clear)]).toEqual([purpose, false]);
      }
    }
    expect(network.about(control)).toHaveLength(1);
    expect(network.about(messages)).toHaveLength(1);
    for (const channel of [controlChannel, messageChannel]) expect(network.about(`channel ${channel}`)).toEqual([]);
    expect(groups[0].explain().text).toMatch(/rank 1 over tcp: .*; encrypted by TLS_AES_128_GCM_SHA256$/m);
    await closeAll(groups);
  });

  it('keeps large messages apart that are sent at the same time', async () => {
    const groups = await Promise.all(network.open());
    const sizes = [400_000, 10, 300_000];
    const received = sizes.map((size) => groups[1].receive(0, new Float32Array(size)));
    const sent = sizes.map((size, index) => groups[0].send(1, new Float32Array(size).fill(index + 1)));
    const back = groups[0].receive(1, new Float32Array(1));
    await Promise.all([...sent, groups[1].send(0, Float32Array.of(4)), back]);
    for (const [index, values] of (await Promise.all(received)).entries())
      expect([index, values.every((value) => value === index + 1)]).toEqual([index, true]);
    await closeAll(groups);
  });

  it.each([...Array(12).keys()])(
    'takes no other bytes for a message that was transferred after %i turns',
    async (turns) => {
      const groups = await Promise.all(network.open());
      // Connects them.
      await Promise.all([groups[0].send(1, new Float32Array(1)), groups[1].receive(0, new Float32Array(1))]);
      const sizes = [1_000_000, 1000, 1000];
      const received = sizes.map((size) => groups[1].receive(0, new Float32Array(size)));
      const values = sizes.map((size, index) => new Float32Array(size).fill(index + 1));
      const sent = Promise.allSettled(values.map((array) => groups[0].send(1, array)));
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      structuredClone(values[1], { transfer: [(values[1] as Float32Array).buffer as ArrayBuffer] });
      for (const [index, outcome] of (await Promise.allSettled(received)).entries()) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(CollError);
        else expect([index, outcome.value.every((value) => value === index + 1)]).toEqual([index, true]);
      }
      const [, own] = await sent;
      if (own?.status === 'rejected') expect(own.reason).toMatchObject({ code: 'ERR_COLL_BUFFER', rank: 0 });
      await closeAll(groups);
    },
  );

  it.each([
    ['data', /rank [01] on .* sent corrupt or foreign bytes over a data connection/],
    [
      control,
      /rank [01] on .* was lost: (corrupt or foreign bytes arrived over its control connection|its process or)/,
    ],
  ])('fails on both ranks with an error that names a rank if bytes are injected (%s)', async (purpose, message) => {
    for (const to of [0, 1] as const) {
      network = new AttackedNetwork();
      const groups = await Promise.all(network.open());
      const sum = () => Promise.allSettled(groups.map((group) => group.allReduce('sum', values.slice())));
      await sum();
      network.about(purpose)[0]?.ends[to].write(randomBytes(64));
      await sum();
      for (const result of await sum()) {
        expect(result).toMatchObject({
          status: 'rejected',
          reason: { code: 'ERR_COLL_PEER_FAILED', message: expect.stringMatching(message) },
        });
      }
      await closeAll(groups);
      network.close();
    }
  });
});
