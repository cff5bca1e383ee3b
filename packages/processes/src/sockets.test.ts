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

it('Sockets hands over the requested connections by rank and in channel order, and later closes all others', () => {
  const closed: number[] = [];
  const binding = {
    takeSocket: (socket: number) => socket + 100,
    closeSocket: (socket: number) => closed.push(socket),
  };
  const sockets = new Sockets(binding as unknown as ProcessBinding);
  const [first, second, third, kept] = [1, 2, 3, 4].map((descriptor) => sockets.take(descriptor));
  const taken = [
    { rank: 2, channel: 2, socket: first as number },
    { rank: 1, channel: 1, socket: second as number },
    { rank: 2, channel: 1, socket: third as number },
  ];
  expect([...sockets.handOver(taken)]).toEqual([
    [1, [102]],
    [2, [103, 101]],
  ]);
  const discarded = sockets.take(5);
  for (let times = 0; times < 2; times++) sockets.discard(discarded);
  expect(closed).toEqual([105]);
  sockets.close();
  expect(closed).toEqual([105, kept]);
});

it('Sockets reports whether it could take over a file descriptor', () => {
  const told: string[] = [];
  const descriptors = { opened: () => told.push('opened'), missed: () => told.push('missed') };
  const takeSocket = (socket: number) => {
    if (socket === 1) return 100;
    throw new Error('too many open files');
  };
  const sockets = new Sockets({ takeSocket } as unknown as ProcessBinding, descriptors as unknown as Descriptors);
  expect(sockets.take(1)).toBe(100);
  expect(() => sockets.take(2)).toThrow('too many open files');
  expect(told).toEqual(['opened', 'missed']);
});
