import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { preSharedKeys } from './pre-shared-keys.js';

it('no connection can resume the session of another one without the key', async () => {
  const key = randomBytes(32);
  const server = createServer({ ...preSharedKeys, pskCallback: () => key }, (socket) => {
    socket.on('error', () => {});
    socket.write('welcome');
  });
  const refusals: Error[] = [];
  server.on('tlsClientError', (error) => refusals.push(error));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = (psk: Buffer | undefined, session?: Buffer): TLSSocket =>
    connect({
      ...preSharedKeys,
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      session,
      pskCallback: () => (psk ? { psk, identity: 'test' } : null),
      checkServerIdentity: () => undefined,
    });

  const first = open(key);
  const [[session]] = (await Promise.all([once(first, 'session'), once(first.resume(), 'data')])) as [
    [Buffer],
    unknown,
  ];
  first.destroy();
  const second = open(undefined, session);
  await expect(once(second, 'secureConnect')).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_SSL_/) });
  second.destroy();
  await expect.poll(() => refusals).toHaveLength(1);
  server.close();
});
