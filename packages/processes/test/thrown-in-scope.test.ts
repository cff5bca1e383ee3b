import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { describe, expect, it } from 'vitest';
import { openProcessGroup } from '../src/index.js';

const program = fileURLToPath(new URL('./fixtures/thrown-in-scope.js', import.meta.url));
const job = 'thrown in scope';
const jobKey = TcpStoreServer.newKey();

describe.each(['shared-memory', 'tcp'] as const)('an exception in the scope of a group over %s', (transport) => {
  it.each([
    ['at the top level', 'ended with exit code 1: ENOSPC: no space left on device'],
    ['in a callback', 'ended with exit code 1: ENOSPC: no space left on device'],
    ['in an async function', 'ended with exit code 1: ENOSPC: no space left on device'],
    ['caught', 'ended with exit code 3'],
  ])('is the error of a member that waits if it was thrown %s', async (how, text) => {
    await using server = await TcpStoreServer.listen({ job, jobKey });
    const { address } = server;
    const child = fork(program, [JSON.stringify({ address, job, jobKey, transport, how })], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await using store = await TcpStore.connect({ address, job, jobKey });
    const patience = { timeoutSeconds: 120, heartbeatSeconds: 20 };
    await using group = await openProcessGroup({ store, job, jobKey, rank: 1, size: 2, transport, ...patience });
    await group.barrier();
    await expect(group.allReduce('sum', Float32Array.of(1))).rejects.toMatchObject({
      ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 0, ranks: [0] },
      message: expect.stringMatching(new RegExp(`rank 0 on .* ${text}`)),
    });
    await ended;
  });
});
