import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { MemoryStore, StoreRendezvous } from '@coll/rendezvous';
import { expect, it } from 'vitest';
import { connectAll } from './connections.js';
import { secretBytes } from './hello.js';
import { memberOf } from './member-config.js';
import type { ProcessBinding } from './process-binding.js';
import { Sockets } from './sockets.js';

it('the timeout error of connections includes why a member could not be reached', async () => {
  // A server that closes every connection at once.
  const deaf = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const { port } = deaf.address() as AddressInfo;
  const member = memberOf({ rank: 1, size: 2, jobKey: randomBytes(16).toString('hex'), timeoutSeconds: 0.3 });
  const rendezvous = new StoreRendezvous(new MemoryStore(), { rank: 1, size: 2, timeoutSeconds: 0.3 });
  const place = { insecure: false, encrypt: 'between-hosts', hostName: 'a', bootId: 'b' };
  const peers = [0, 1].map(() => ({ ...place, addresses: [{ host: '127.0.0.1', port }] }));
  const common = { member, rendezvous, peers, host: '127.0.0.1', secret: Buffer.alloc(secretBytes) };
  const mesh = { ...common, sockets: new Sockets({} as ProcessBinding), listener: undefined };
  await expect(connectAll(mesh as never, [0])).rejects.toMatchObject({
    ...{ code: 'ERR_COLL_DEADLINE', rank: 1, operation: 'open a group', cause: expect.any(Error) },
    message: expect.stringMatching(
      /^rank 1 waited 0.3 seconds for connections with the other members: rank 0 could not be reached; the last attempt failed: .*(closed the connection|ECONNRESET|EPIPE)/,
    ),
  });
  rendezvous.end();
  deaf.close();
});
