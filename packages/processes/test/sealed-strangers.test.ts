import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { CollError } from '@coll/core';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { afterEach, describe, expect, it } from 'vitest';
import { lengths } from '../src/hello.js';
import { openProcessGroup } from '../src/index.js';
import { computeWith } from './attacked-group.ts';
import { AttackedNetwork, purposes, type Tapped } from './attacked-network.ts';
import { reroutedStore } from './faults/rerouted-store.ts';
import { forgedHello } from './forged-hellos.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Connects to a port, and sends these parts one after the other, each in a packet of its own. */
function send(port: number, parts: readonly Buffer[]): Socket {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  sockets.push(socket);
  socket.on('error', () => {}).resume();
  socket.once('connect', () => {
    for (const part of parts) setImmediate(() => socket.write(part));
  });
  return socket;
}

const bytesOf = (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.of(byte));

/** What strangers send who have seen a connection, but have no key. */
const strangers: Readonly<Record<string, (seen: Tapped) => readonly Buffer[]>> = {
  'say nothing': () => [],
  'stop within their first message': ({ said }) => [said[0].subarray(0, 20)],
  'send their first message byte by byte': ({ said }) => bytesOf(said[0].subarray(0, lengths.hello)),
  'send too much': () => [randomBytes(1 << 20)],
  'repeat all that was said': ({ said }) => [said[0]],
  'begin TLS at once': () => [forgedHello({ identity: randomBytes(32), key: randomBytes(32) }, 'TLS 1.3')],
  'repeat the first message, and forge the next one': ({ said }) => [
    said[0].subarray(0, 48),
    forgedHello({ identity: said[0].subarray(16, 48), key: randomBytes(32) }, 'TLS 1.3'),
  ],
};

describe('an encrypted group', () => {
  it('computes and sends messages among hundreds of strangers of all kinds', async () => {
    const network = new AttackedNetwork();
    const groups = await Promise.all(network.open({ timeoutSeconds: 60 }));
    const compute = () => Promise.all(groups.map((group, rank) => computeWith(group, 1 - rank)));
    expect(await compute()).toEqual([undefined, undefined]);
    for (let round = 0; round < 15; round++) {
      for (const purpose of [purposes.control, purposes.data]) {
        const [seen] = network.about(purpose) as [Tapped];
        for (const say of Object.values(strangers)) send(seen.port, say(seen));
      }
      expect(await compute()).toEqual([undefined, undefined]);
    }
    await Promise.all(groups.map((group) => group.close()));
    network.close();
  });
});

describe('a process without the key that answers at the address of rank 0', () => {
  const answers: Readonly<Record<string, (socket: Socket) => void>> = {
    'sends random bytes': (socket) => socket.write(randomBytes(lengths.challenge)),
    'returns what it gets': (socket) => void socket.pipe(socket),
    'closes each connection': (socket) => socket.end(),
    'says nothing': (socket) => void socket.resume(),
  };

  it.concurrent.each(Object.entries(answers))('%s, and rank 1 gets an error that names rank 0', async (_, answer) => {
    const impostor = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      answer(socket);
    }).listen(0, '127.0.0.1');
    servers.push(impostor);
    await once(impostor, 'listening');
    const { port } = impostor.address() as AddressInfo;
    const memory = new MemoryStore();
    const jobKey = TcpStoreServer.newKey();
    const openings = [0, 1].map((rank) => {
      const store = rank === 0 ? memory : reroutedStore(memory, { rank, size: 2, jobKey }, async () => port);
      const links = { transport: 'tcp', encrypt: 'always' } as const;
      return openProcessGroup({ store, rank, size: 2, jobKey, ...links, timeoutSeconds: 15 });
    });
    for (const { status, reason } of (await Promise.allSettled(openings)) as PromiseRejectedResult[]) {
      expect(status).toBe('rejected');
      expect(reason).toBeInstanceOf(CollError);
      expect(reason.message).toMatch(/rank [01]/);
    }
  });
});
