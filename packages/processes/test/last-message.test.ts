import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MemoryStore, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { describe, expect, it } from 'vitest';
import { type OpenedProcessGroup, openProcessGroup } from '../src/index.js';
import { expectedOf, type LastCall, lastCalls, manyElements } from './last-calls.js';

const program = fileURLToPath(new URL('./fixtures/last-message.js', import.meta.url));
const calls = Object.keys(lastCalls) as LastCall[];
const jobKey = TcpStoreServer.newKey();
// A machine that is busy with other tests may leave a member alone for some seconds.
const patience = { timeoutSeconds: 120, heartbeatSeconds: 20 };

describe.each([
  ['shared-memory', { transport: 'shared-memory' }],
  ['tcp', { transport: 'tcp' }],
  ['encrypted tcp', { transport: 'tcp', encrypt: 'always' }],
] as const)('the last call before a member leaves a group over %s', (_, links) => {
  const open = (size: number): Promise<OpenedProcessGroup[]> => {
    const store = new MemoryStore();
    const member = (rank: number) => openProcessGroup({ store, rank, size, jobKey, ...links, ...patience });
    return Promise.all(Array.from({ length: size }, (_, rank) => member(rank)));
  };

  it.each(calls)('has its result on all members if each closes its group right after %s', async (call) => {
    const results = (await open(3)).map(async (group) => {
      const result = await lastCalls[call](group);
      await group.close();
      return result;
    });
    expect(await Promise.all(results)).toEqual([0, 1, 2].map((rank) => expectedOf(call, rank, 3)));
  });

  it.each([1, 10_000, 2_000_000])(
    'delivers a message of %i elements whose sender has closed its group',
    async (length) => {
      for (const [from, to] of [
        [0, 1],
        [1, 0],
      ] as const) {
        const groups = await open(2);
        const received = groups[to]?.receive(from, new Float32Array(length));
        await groups[from]?.send(to, new Float32Array(length).fill(3));
        await groups[from]?.close();
        expect((await received)?.every((element) => element === 3)).toBe(true);
        await groups[to]?.close();
      }
    },
  );

  it('delivers a message although the departure of its sender has failed the group', async () => {
    const [first, second, third] = (await open(3)) as [OpenedProcessGroup, OpenedProcessGroup, OpenedProcessGroup];
    const waiting = third.barrier().catch((error) => error);
    const received = second.receive(0, new Float32Array(manyElements));
    await first.send(1, new Float32Array(manyElements).fill(3));
    const closed = first.close();
    expect(await waiting).toMatchObject({ code: 'ERR_COLL_CLOSED', rank: 0 });
    expect((await received).every((element) => element === 3)).toBe(true);
    await Promise.all([closed, second.close(), third.close()]);
  });

  it.each([
    ['calls process.exit(0)', 'exit'],
    ['has nothing left to do', 'end'],
  ] as const)('has its result on the other member if the process of a member %s', async (_, how) => {
    const job = 'last message';
    await using server = await TcpStoreServer.listen({ job, jobKey });
    const { address } = server;
    for (const call of how === 'exit' ? calls : (['up', 'down'] as const)) {
      const generation = calls.indexOf(call);
      const rank = call === 'down' || call === 'broadcast' ? 0 : 1;
      const task = { address, job, jobKey, rank: 1 - rank, ...links, call, how, generation };
      const child = fork(program, [JSON.stringify(task)]);
      await using store = await TcpStore.connect({ address, job, jobKey });
      const member = { store, job, jobKey, rank, size: 2, generation, ...links, ...patience };
      await using group = await openProcessGroup(member);
      expect(await lastCalls[call](group), call).toEqual(expectedOf(call, rank, 2));
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
      expect([call, child.exitCode]).toEqual([call, 0]);
    }
  });
});
