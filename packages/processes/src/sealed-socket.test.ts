import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sealSocket } from './sealed-socket.js';

const seal = { identity: randomBytes(32), key: randomBytes(32) };
const aes = 'TLS_AES_128_GCM_SHA256';
const chacha = 'TLS_CHACHA20_POLY1305_SHA256';

let server: Server;
let near: Socket;
let far: Socket;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  [far] = (await once(server, 'connection')) as [Socket];
});

afterEach(() => {
  near.destroy();
  far.destroy();
  server.close();
});

const sealBoth = (cipher: string): [TLSSocket, TLSSocket] => [
  sealSocket(near, seal, { isServer: false, cipher }),
  sealSocket(far, seal, { isServer: true, cipher }),
];

describe('a sealed socket', () => {
  it.each([aes, chacha])('uses the given suite (%s), and carries bytes both ways', async (cipher) => {
    const ends = sealBoth(cipher);
    for (const [from, to] of [ends, [...ends].reverse()] as [TLSSocket, TLSSocket][]) {
      const heard = once(to, 'data');
      from.write('what is said');
      expect(String(await heard)).toBe('what is said');
      expect(from.getCipher().standardName).toBe(cipher);
      expect(from.getProtocol()).toBe('TLSv1.3');
    }
  });

  it.each([0, 1])(
    'fails with an error and closes on both ends if one gets an injected record (end %i)',
    async (end) => {
      const ends = sealBoth(aes);
      const heard = ends.map((socket) => once(socket, 'data'));
      for (const socket of ends) socket.write('what is said');
      await Promise.all(heard);
      const failures = ends.map((socket) => new Promise((resolve) => socket.once('error', resolve)));
      const closings = ends.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      // The plain socket below the other end writes past its encryption.
      [far, near][end]?.write(Buffer.from([23, 3, 3, 0, 64, ...randomBytes(64)]));
      for (const error of await Promise.all(failures))
        expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_SSL_/) });
      await Promise.all(closings);
    },
  );
});
