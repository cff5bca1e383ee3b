import { CollError } from '@coll/core';
import { afterEach, expect, it, vi } from 'vitest';
import { TcpStore } from './tcp-store.js';
import { TcpStoreServer } from './tcp-store-server.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

it.each([
  ['bun', 'Bun 1.2.3'],
  ['deno', 'Deno 1.2.3'],
])('the TCP store refuses %s before it opens a connection, and names the file store', async (name, runtime) => {
  const versions = { ...process.versions, [name]: '1.2.3' };
  vi.stubGlobal('process', Object.create(process, { versions: { value: versions } }));
  const job = { job: 'test', jobKey: TcpStoreServer.newKey() };
  const calls = { listen: TcpStoreServer.listen(job), connect: TcpStore.connect({ ...job, address: 'tcp://[::1]:1' }) };
  for (const [operation, call] of Object.entries(calls)) {
    const error = await call.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CollError);
    expect(error).toMatchObject({
      ...{ code: 'ERR_COLL_STORE', operation },
      message: expect.stringMatching(`^${runtime} has no TLS with a pre-shared key.* use a FileStore`),
    });
  }
});
