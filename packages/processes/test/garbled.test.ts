import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Communicator, tensor, UnavailableError } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { afterEach, describe, expect, it } from 'vitest';
import { controlChannel } from '../src/hello.js';
import { type OpenedProcessGroup, openProcessGroup } from '../src/index.js';
import { reroutedStore } from './faults/rerouted-store.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A double of the network that connects two ranks: each connection with rank 0, to write to it in the place of rank 1. */
async function tap(port: number, connections: Map<string, Socket>): Promise<number> {
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    sockets.push(near, far);
    near.once('data', (first) => connections.set(purposeOf(first), far));
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => {});
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** What a connection is for, by its first bytes: a hello has its channel there. */
function purposeOf(first: Buffer): string {
  return first.toString('latin1', 0, 8) === 'coll-dat' ? 'data' : `channel ${first.readUInt16BE(10)}`;
}

describe('corrupt bytes from rank 1 on an established connection with rank 0', () => {
  it.each([
    ['data', /rank 1 on .* sent corrupt or foreign bytes over a data connection: .* \(rank 0 on .*\)/],
    [
      `channel ${controlChannel}`,
      /rank 1 on .* was lost: corrupt or foreign bytes arrived over its control connection/,
    ],
  ])(
    'make the group fail on both ranks with an error that names rank 1 and the connection (%s)',
    async (purpose, message) => {
      const memory = new MemoryStore();
      const connections = new Map<string, Socket>();
      const jobKey = TcpStoreServer.newKey();
      const open = (rank: number) => {
        const store =
          rank === 0 ? memory : reroutedStore(memory, { rank, size: 2, jobKey }, (_, port) => tap(port, connections));
        return openProcessGroup({ store, rank, size: 2, jobKey, transport: 'tcp', timeoutSeconds: 20 });
      };
      const groups = await Promise.all([open(0), open(1)]);
      const communicators = groups.map((group) => group.communicator(directAlgorithm()));
      const sum = (rank: number) => {
        const values = tensor(new Float32Array(100));
        return (communicators[rank] as Communicator).run({ kind: 'all-reduce', op: 'sum' }, [values], [values]);
      };
      await Promise.all([sum(0), sum(1)]);
      connections.get(purpose)?.write(randomBytes(64));
      // Rank 1 may have all that it needs for the first of two calls.
      await Promise.allSettled([sum(0), sum(1)]);
      const errors = await Promise.all([sum(0), sum(1)].map((call) => call.catch((error: unknown) => error)));
      for (const error of errors) {
        expect(error).toBeInstanceOf(UnavailableError);
        expect(error).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1, message: expect.stringMatching(message) });
      }
      await Promise.all(groups.map((group: OpenedProcessGroup) => group.close()));
    },
  );
});
