import { connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { Conversation } from './conversation.js';
import type { ProcessBinding } from './process-binding.js';
import { Sockets } from './sockets.js';

it('takes no connection that comes when all is over, and leaves none open', async () => {
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
  const late = new Conversation(await met, [], 1000);
  expect(() => late.handOver((descriptor) => sockets.take(descriptor))).toThrow('nobody wants');
  late.drop();
  await new Promise((resolve) => other.once('close', resolve));
  sockets.close();
  expect(closed).toEqual([100]);
  server.close();
});
