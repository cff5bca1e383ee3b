import { connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { Descriptors } from './descriptors.js';
import { HandshakeStream } from './handshake-stream.js';
import type { ProcessBinding } from './process-binding.js';
import { Sockets } from './sockets.js';

it('a closed Sockets object refuses late connections, and leaves none open', async () => {
  const closed: number[] = [];
  const binding = { takeSocket: (socket: number) => socket, closeSocket: (socket: number) => closed.push(socket) };
  const sockets = new Sockets(binding as unknown as ProcessBinding);
  sockets.take(100);
  sockets.close();
  expect(closed).toEqual([100]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const met = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const other = connect(server.address() as { port: number });
  const late = new HandshakeStream(await met, [], 1000);
  expect(() => late.handOver((descriptor) => sockets.take(descriptor))).toThrow('accepts no more connections');
  late.drop();
  await new Promise((resolve) => other.once('close', resolve));
  sockets.close();
  expect(closed).toEqual([100]);
  server.close();
});

it('Sockets keeps no socket that was handed over or discarded, and closes all others', () => {
  const closed: number[] = [];
  const binding = {
    takeSocket: (socket: number) => socket + 100,
    listenForData: () => [200, 4711],
    closeSocket: (socket: number) => closed.push(socket),
  };
  const sockets = new Sockets(binding as unknown as ProcessBinding);
  const [first, kept] = [1, 2].map((descriptor) => sockets.take(descriptor)) as [number, number];
  expect(sockets.listen('127.0.0.1')).toEqual([200, 4711]);
  expect(sockets.handOver(first)).toBe(first);
  const discarded = sockets.take(5);
  for (let times = 0; times < 2; times++) sockets.discard(discarded);
  expect(closed).toEqual([105]);
  sockets.close();
  expect(closed).toEqual([105, kept, 200]);
  expect(() => sockets.listen('127.0.0.1')).toThrow('the member is closed');
});

it('Sockets reports whether it could take over a file descriptor', () => {
  const events: string[] = [];
  const descriptors = { opened: () => events.push('opened'), missed: () => events.push('missed') };
  const takeSocket = (socket: number) => {
    if (socket === 1) return 100;
    throw new Error('too many open files');
  };
  const sockets = new Sockets({ takeSocket } as unknown as ProcessBinding, descriptors as unknown as Descriptors);
  expect(sockets.take(1)).toBe(100);
  expect(() => sockets.take(2)).toThrow('too many open files');
  expect(events).toEqual(['opened', 'missed']);
});
