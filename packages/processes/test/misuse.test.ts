import { AbortedError, type Algorithm, DeadlineExceededError, type DType, tensor, UnavailableError } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import { SilentStore } from '../../rendezvous/test/silent-store.ts';
import { openProcessGroup } from '../src/index.js';

const jobKey = TcpStoreServer.newKey();
const alone = () => ({ store: new MemoryStore(), rank: 0, size: 1, jobKey });
const refused = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

it('allocate throws if maxBytes of the group is too small', async () => {
  await using group = await openProcessGroup({ ...alone(), maxBytes: 10 });
  const { group: own } = group.communicator(directAlgorithm());
  expect(() => own.allocate('float64', 100_000)).toThrow(refused('ERR_COLL_BUFFER', 'larger maxBytes'));
});

it('opening a group times out if the store never answers', async () => {
  const member = { store: new SilentStore(), rank: 0, size: 2, jobKey };
  const begun = performance.now();
  await expect(openProcessGroup({ ...member, timeoutSeconds: 0.1 })).rejects.toThrow(DeadlineExceededError);
  const signal = AbortSignal.timeout(100);
  await expect(openProcessGroup({ ...member, timeoutSeconds: null, signal })).rejects.toThrow(AbortedError);
  expect(performance.now() - begun).toBeLessThan(30_000);
});

it.each([undefined, 'ring', {}])('a group refuses %s as the algorithm of a communicator', async (algorithm) => {
  await using group = await openProcessGroup(alone());
  const connect = () => group.communicator(algorithm as unknown as Algorithm);
  expect(connect).toThrow(refused('ERR_COLL_VALUE', 'an algorithm must be an object with a name and a plan'));
});

it.each([
  ['float32', -1],
  ['float32', 1.5],
  ['complex64', 4],
])('a rank refuses to allocate a tensor of dtype %s and length %s', async (dtype, length) => {
  await using group = await openProcessGroup(alone());
  const { group: own } = group.communicator(directAlgorithm());
  expect(() => own.allocate(dtype as DType, length)).toThrow(refused('ERR_COLL_VALUE', 'a whole number of elements'));
});

it.each([undefined, null, 'out of memory'])('a group can be failed with %s, which is not an Error', async (thrown) => {
  await using group = await openProcessGroup(alone());
  group.fail(thrown as unknown as Error);
  expect(group.failure()).toBeInstanceOf(UnavailableError);
  expect(group.failure()?.message).toContain(`failed: ${thrown}`);
  const buffers = [tensor(Float32Array.of(1))];
  const running = group.communicator(directAlgorithm()).run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
  await expect(running).rejects.toThrow(UnavailableError);
});
