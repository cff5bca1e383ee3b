import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { openProcessGroup } from '../src/index.js';

const program = fileURLToPath(new URL('./fixtures/lost-in-split.js', import.meta.url));
const size = 4;

async function run(victim: number, timeoutSeconds?: number): Promise<readonly unknown[]> {
  const [job, jobKey] = ['split', TcpStoreServer.newKey()];
  await using server = await TcpStoreServer.listen({ job, jobKey });
  const { address } = server;
  return await Promise.all(
    Array.from({ length: size }, (_, rank) => {
      const child = fork(program, [JSON.stringify({ address, job, jobKey, rank, size, victim, timeoutSeconds })]);
      let outcome: unknown = 'nothing';
      child.once('message', (message) => {
        outcome = message;
      });
      return new Promise((resolve) => child.once('exit', () => resolve(outcome)));
    }),
  );
}

describe('a split of a group', () => {
  // Rank 1 serves the store of a new group; rank 3 only connects to it.
  it.each([1, 3])('throws the failure of the group on all other members if rank %i is killed in it', async (victim) => {
    const lost = { code: 'ERR_COLL_PEER_FAILED', rank: victim, ranks: [victim], operation: 'split' };
    const outcomes = await run(victim);
    expect(outcomes[victim]).toBe('nothing');
    expect(outcomes[4 - victim]).toEqual(lost);
    // The other color may have opened its group before.
    for (const other of [0, 2]) expect([lost, { operation: undefined }, {}]).toContainEqual(outcomes[other]);
  });

  it('names the member that does not open the new group within the time limit of the call', async () => {
    const outcomes = await run(3, 3);
    for (const rank of [1, 3]) expect(outcomes[rank]).toMatchObject({ code: 'ERR_COLL_DEADLINE', operation: 'split' });
    expect(outcomes[1]).toMatchObject({ rank: 1, ranks: [3] });
  });
});

it('a split into sizes that the algorithm refuses is refused on all members, and the group goes on', async () => {
  const [store, jobKey] = [new MemoryStore(), TcpStoreServer.newKey()];
  const options = { store, size, jobKey, algorithm: ringAlgorithm({ workers: 2 }) };
  const groups = await Promise.all([0, 1, 2, 3].map((rank) => openProcessGroup({ ...options, rank })));
  const errors = await Promise.all(groups.map((group) => group.split(Math.min(group.rank, 1)).catch((error) => error)));
  for (const [rank, error] of errors.entries())
    expect(error).toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_REFUSED', operation: 'split', rank },
      message: expect.stringMatching(/"ring" refuses a new group of 3 ranks: .*directAlgorithm\(\)/),
    });
  const halves = await Promise.all(groups.map((group) => group.split(group.rank % 2)));
  expect(halves.map((half) => half?.size)).toEqual([2, 2, 2, 2]);
  const closing = [...halves, ...groups].map(async (group) => {
    await group?.close();
  });
  await Promise.all(closing);
});

it('an error of a group made by split has the ranks of this group and of the whole group', async () => {
  const [store, jobKey] = [new MemoryStore(), TcpStoreServer.newKey()];
  const groups = await Promise.all([0, 1, 2, 3].map((rank) => openProcessGroup({ store, rank, size, jobKey })));
  const halves = await Promise.all(groups.map((group) => group.split(group.rank < 2 ? 0 : 1)));
  const singles = await Promise.all(halves.map(async (half, rank) => await half?.split(rank % 2)));
  await halves[3]?.close();
  await expect(halves[2]?.barrier()).rejects.toMatchObject({
    ...{ code: 'ERR_COLL_CLOSED', rank: 1, ranks: [1], wholeRanks: [3] },
    message: expect.stringContaining('rank 1 (rank 3 of the whole group) on'),
  });
  const closing = [...singles, ...halves, ...groups].map(async (group) => {
    await group?.close();
  });
  await Promise.all(closing);
});
