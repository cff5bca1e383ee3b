import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TypedArray, tensor } from '@coll/core';
import { TcpStoreServer } from '@coll/rendezvous';
import { type Call, type GroupMember, processRanks } from '@coll/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockingNoThread } from './blocking-no-thread.ts';
import './doubles.ts';

const ranks = processRanks({ join: { module: new URL('./join-by-group.ts', import.meta.url).href, export: 'join' } });
const open = blockingNoThread(ranks.open);

const folder = mkdtempSync(path.join(tmpdir(), 'coll-nccl-'));
const control = path.join(folder, 'control');
process.env['COLL_DOUBLE_CONTROL'] = control;

let server: TcpStoreServer;
beforeAll(async () => {
  server = await TcpStoreServer.listen({ job: 'nccl', jobKey: 'tests-only-4kQz9XvB7mLwR2' });
  process.env['COLL_TEST_STORE'] = server.address;
});
afterAll(async () => {
  await ranks.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

const sumOf = (data: TypedArray): Call => {
  const value = tensor(data);
  return { collective: { kind: 'all-reduce', op: 'sum' }, inputs: [value], outputs: [value] };
};

describe('a process group whose arithmetic runs on NCCL', () => {
  it('reduces all dtypes, including those that NCCL does not support', async () => {
    await using group = await open(undefined, 2);
    const calls = [0, 1].map((rank) => [sumOf(Float32Array.of(rank, 5)), sumOf(Int16Array.of(rank, 7))]);
    await group.executeEach((_, rank) => calls[rank] as Call[]);
    expect(calls.map((own) => own.map(({ outputs }) => [...(outputs[0]?.data ?? [])]))).toEqual([
      [
        [1, 10],
        [1, 14],
      ],
      [
        [1, 10],
        [1, 14],
      ],
    ]);
  });

  it('does not wait for a lost process, even if NCCL does not detect the loss', async () => {
    await using group = await open(undefined, 2);
    const [first, second] = group.members as readonly [GroupMember, GroupMember];
    await group.executeEach((_, rank) => [sumOf(Float32Array.of(rank))]);
    writeFileSync(control, 'stuck collective\n');
    const waiting = first.execute([sumOf(Float32Array.of(1))]);
    await second.crash?.();
    expect((await waiting)[0]).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });
});
