import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import { memberSuite } from '@coll/testing';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./fixtures/member-scenario.js', import.meta.url));

describe.each(['shared-memory', 'tcp'] as const)('members in processes over %s', (transport) => {
  const run = async (scenario: string, size: number) => {
    const [job, jobKey] = ['members', TcpStoreServer.newKey()];
    await using server = await TcpStoreServer.listen({ job, jobKey });
    const { address } = server;
    return await Promise.all(
      Array.from({ length: size }, async (_, rank) => {
        const task = JSON.stringify({ address, job, jobKey, rank, size, transport, scenario });
        const child = fork(program, [task], { serialization: 'advanced' });
        let sent: { readonly result: unknown } | undefined;
        child.once('message', (message) => {
          sent = message as typeof sent;
        });
        await once(child, 'exit');
        return sent?.result;
      }),
    );
  };
  memberSuite({ test: it, name: transport, sizes: [1, 2, 3], run });

  it('report a member that was killed to the receiver of its messages', async () => {
    expect(await run('a member that is killed', 2)).toEqual([['ERR_COLL_PEER_FAILED', 1], undefined]);
  });
});
