import { expect, it } from 'vitest';
import { hostedStore, hostStore, listenForGroup } from './hosted-store.js';
import { TcpStoreServer } from './tcp-store-server.js';

const job = { job: 'hosted', jobKey: 'tests-only-4kQz9XvB7mLwR2' };

it('a hosted store is found by its address', async () => {
  const server = await hostStore(job);
  expect(hostedStore(server.address)).toBe(server);
  expect(hostedStore('tcp://127.0.0.1:1')).toBeUndefined();
  await server.close();
});

it('the error for a port in use says how to host the store elsewhere', async () => {
  await using taken = await TcpStoreServer.listen(job);
  await expect(listenForGroup({ ...job, port: Number(new URL(taken.address).port) })).rejects.toMatchObject({
    ...{ code: 'ERR_COLL_STORE', rank: 0, operation: 'listen' },
    message: expect.stringMatching(
      /^rank 0 must host the store of its group, but .*EADDRINUSE.*: free the port, or run `coll store`/,
    ),
  });
});

it.each([
  ['192.0.2.1', 'EADDRNOTAVAIL', 'give rank 0 an address of this host, or start rank 0 on the host with this address'],
  ['no-such-host.invalid', 'ENOTFOUND|EAI_AGAIN', 'correct the name of the host, or use its IP address'],
])('the error for the host %s, at which no store can listen, says what to do', async (host, code, advice) => {
  const message = new RegExp(`^rank 0 must host the store of its group, but .*(${code}).*: ${advice}, or run`);
  await expect(listenForGroup({ ...job, host })).rejects.toThrow(message);
});

it('an invalid option is reported unchanged', async () => {
  await expect(listenForGroup({ ...job, port: -1 })).rejects.toThrow(/^port must be a whole number/);
});
