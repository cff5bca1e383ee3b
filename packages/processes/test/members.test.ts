import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import { memberSuite } from '@coll/testing';
import { describe, it } from 'vitest';

const program = fileURLToPath(new URL('./fixtures/member-scenario.js', import.meta.url));

describe.each(['shared-memory', 'tcp'] as const)('members among processes over %s', (transport) => {
  memberSuite({
    test: it,
    name: transport,
    sizes: [1, 2, 3],
    run: async (scenario, size) => {
      const [job, jobKey] = ['members', TcpStoreServer.newKey()];
      await using server = await TcpStoreServer.listen({ job, jobKey });
      const { address } = server;
      return await Promise.all(
        Array.from({ length: size }, async (_, rank) => {
          const task = JSON.stringify({ address, job, jobKey, rank, size, transport, scenario });
          const child = fork(program, [task], { serialization: 'advanced' });
          const [[sent]] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
          return (sent as { readonly result: unknown }).result;
        }),
      );
    },
  });
});
