import { openMembers, PerReplica } from '@coll/core';
import { direct, directAlgorithm } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';

const module = new URL('./fixtures/borders.ts', import.meta.url);
const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });

const notSent =
  /a tf\.(Tensor|Variable) cannot be sent to another thread: .*await tensor\.data\(\) or tensor\.dataSync\(\)/;
const notRead = /is a tf\.(Tensor|Variable), .*: pass its elements and its shape, tensor\(await value\.data\(\)/;

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const messageOf = (call: () => unknown) =>
  Promise.resolve()
    .then(call)
    .then(() => 'went through', String);

describe('a tensor of TensorFlow.js', () => {
  it('is refused by the collectives, reports and merge calls of a replica in a thread', async () => {
    const calls = await strategy.run(module, { exportName: 'callsOf' });
    for (const lines of strategy.experimentalLocalResults(calls) as readonly string[]) {
      const messages = lines.split('\n');
      expect(messages.slice(0, 2)).toEqual(Array(2).fill(expect.stringMatching(notSent)));
      expect(messages.slice(2, -1)).toEqual(Array(7).fill(expect.stringMatching(notRead)));
      expect(messages.at(-1)).toMatch(notSent);
    }
  });

  it('is refused as the result and as an argument of a replica in a thread', async () => {
    await expect(strategy.run(module, { exportName: 'returned' })).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_NOT_CLONEABLE', rank: 1 },
      message: expect.stringMatching(new RegExp(`^replica 1: ${notSent.source}`)),
    });
    for (const value of [tf.scalar(1), [{ xs: tf.scalar(1) }], new PerReplica([tf.scalar(1), tf.scalar(1)])])
      expect(await messageOf(() => strategy.run(module, { exportName: 'returned', args: [value] }))).toMatch(notSent);
  });

  it('is refused by members, cross-device ops and variables, and comes back from a replica in this thread', async () => {
    const own = tf.tensor([1, 2]);
    const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm() });
    const calls = [
      () => first?.allReduce('sum', own as never),
      () => second?.allReduce('sum', [own] as never),
      () => first?.send(1, own as never),
      () => second?.receive(0, own as never),
      () => strategy.reduce('sum', new PerReplica([own, own]) as never, null),
      () => strategy.run((context) => context.allReduce('sum', { deep: own } as never)),
    ];
    for (const call of calls) expect(await messageOf(call)).toMatch(notRead);
    expect(await strategy.run(() => own)).toBe(own);
    await second?.close();
  });
});
