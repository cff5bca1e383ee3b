import { type Tensor, tensor } from '@coll/core';
import { TcpStoreServer } from '@coll/rendezvous';
import { type Call, type CallOptions, executorSuite, type GroupMember, processRanks } from '@coll/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockingNoThread } from './blocking-no-thread.ts';
import './doubles.ts';

const join = { module: new URL('./join-by-store.ts', import.meta.url).href, export: 'join' };
const oneEach = processRanks({ join });
const unchecked = processRanks({ join: { ...join, options: { checkCalls: false } } });
const mixed = processRanks({ join: { ...join, options: { checkCalls: false, isMixed: true } } });
const twoEach = processRanks({ join, membersOf: (size) => size / 2 });

let server: TcpStoreServer;
beforeAll(async () => {
  server = await TcpStoreServer.listen({ job: 'nccl', jobKey: 'tests-only-4kQz9XvB7mLwR2' });
  process.env['COLL_TEST_STORE'] = server.address;
});
afterAll(async () => {
  await Promise.all([oneEach, twoEach, unchecked, mixed].map((ranks) => ranks.close()));
  await server.close();
});

const suite = { test: it, describe, lacks: ['reserve'] } as const;
const open = blockingNoThread(oneEach.open);
executorSuite({
  ...suite,
  name: 'NcclCommunicator, one process per rank',
  open,
  ranks: [1, 2, 4],
  membersOf: (size) => size,
});
executorSuite({
  ...suite,
  name: 'NcclCommunicator, two ranks per process',
  open: blockingNoThread(twoEach.open),
  membersOf: (size) => size / 2,
  ranks: [4],
});

describe('processes without checkCalls', () => {
  const call = (rank: number, options: CallOptions = {}): Call => {
    const value = tensor(Float32Array.of(rank + 1));
    return { collective: { kind: 'all-reduce', op: 'sum' }, inputs: [value], outputs: [value], ...options };
  };

  it('reduce their values', async () => {
    await using group = await blockingNoThread(unchecked.open)(undefined, 4);
    const calls = group.members.map((_, rank) => call(rank));
    await group.executeEach((_, rank) => [calls[rank] as Call]);
    expect(calls.map(({ outputs }) => outputs[0]?.data[0])).toEqual([10, 10, 10, 10]);
  });

  it('reduce a long tensor that one process has on the host and another on the GPU', async () => {
    await using group = await blockingNoThread(mixed.open)(undefined, 2);
    const values = [1, 2].map((number) => tensor(new Float32Array(3_000_001).fill(number)));
    const collective = { kind: 'all-reduce', op: 'mean' } as const;
    const errors = await group.executeEach((_, rank) => {
      const value = values[rank] as Tensor;
      return [{ collective, inputs: [value], outputs: [value], timeoutSeconds: 240 }];
    });
    expect(errors.flat().filter(Boolean)).toEqual([]);
    expect(values.map(({ data }) => [data[0], data[3_000_000]])).toEqual([
      [1.5, 1.5],
      [1.5, 1.5],
    ]);
  });

  it('report in a timeout error what the other processes were doing', async () => {
    await using group = await blockingNoThread(unchecked.open)(undefined, 2);
    const [first, second] = group.members as readonly [GroupMember, GroupMember];
    await group.executeEach((_, rank) => [call(rank)]);
    const [error] = await first.execute([call(0, { timeoutSeconds: 0.3 })]);
    expect(error).toMatchObject({ name: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE' });
    expect(error?.message).toMatch(/^all-reduce of .*number \d+.*; rank 1 was idle after 1 operations$/);
    const [late] = await second.execute([call(1)]);
    expect(late).toMatchObject({ code: 'ERR_COLL_DEADLINE', rank: 0 });
  });

  it('get an error if another process crashes or leaves', async () => {
    for (const end of ['crash', 'close'] as const) {
      await using group = await blockingNoThread(unchecked.open)(undefined, 2);
      const [first, second] = group.members as readonly [GroupMember, GroupMember];
      const waiting = first.execute([call(0, { timeoutSeconds: 240 })]);
      await second[end]?.();
      const [error] = await waiting;
      const code = end === 'crash' ? 'ERR_COLL_PEER_FAILED' : 'ERR_COLL_CLOSED';
      expect(error).toMatchObject({ code, rank: 1 });
    }
  });
});
