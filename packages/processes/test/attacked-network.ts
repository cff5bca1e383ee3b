import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { type OpenedProcessGroup, type OpenProcessGroupOptions, openProcessGroup } from '../src/index.js';
import { reroutedStore } from './faults/rerouted-store.ts';

/** A connection between two ranks, in the hands of an attacker. */
export interface Tapped {
  readonly purpose: string;
  /** The bytes that each end has sent so far: the higher rank, which connects, first. */
  readonly said: [Buffer, Buffer];
  readonly ends: readonly [Socket, Socket];
}

/** Sees every part of a connection before the other end does, and returns what the other end gets. */
export type Attack = (tapped: Tapped, from: 0 | 1, part: Buffer) => Buffer;

/** A double of the network between two ranks, for an attacker who can read and change everything. */
export class AttackedNetwork {
  readonly jobKey = TcpStoreServer.newKey();
  readonly connections: Tapped[] = [];
  attack: Attack = (_, __, part) => part;
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];

  /** Opens a group of two ranks whose connections pass through this network. */
  open(
    more: Partial<OpenProcessGroupOptions> = {},
  ): readonly [Promise<OpenedProcessGroup>, Promise<OpenedProcessGroup>] {
    const memory = new MemoryStore();
    const open = (rank: number) => {
      const store = rank === 0 ? memory : reroutedStore(memory, rank, (_, port) => this.#route(port));
      const options = { transport: 'tcp', encrypt: 'always', timeoutSeconds: 20, ...more } as const;
      return openProcessGroup({ store, rank, size: 2, jobKey: this.jobKey, ...options });
    };
    return [open(0), open(1)];
  }

  /** The connections for a purpose: `data`, or `channel` and a number of `hello.ts`. */
  about(purpose: string): readonly Tapped[] {
    return this.connections.filter((connection) => connection.purpose === purpose);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  async #route(port: number): Promise<number> {
    const server = createServer({ noDelay: true }, (near) => {
      const far = connect({ host: '127.0.0.1', port, noDelay: true });
      this.#sockets.push(near, far);
      this.#relay([near, far]);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  #relay(ends: readonly [Socket, Socket]): void {
    let tapped: Tapped | undefined;
    for (const from of [0, 1] as const) {
      const [own, other] = [ends[from], ends[from === 0 ? 1 : 0]];
      own.on('data', (part: Buffer) => {
        if (!tapped) {
          tapped = { purpose: purposeOf(part), said: [Buffer.of(), Buffer.of()], ends };
          this.connections.push(tapped);
        }
        const passed = this.attack(tapped, from, part);
        tapped.said[from] = Buffer.concat([tapped.said[from], part]);
        other.write(passed);
      });
      own.on('end', () => other.end());
      own.on('error', () => other.destroy());
      own.on('close', () => other.destroy());
    }
  }
}

/** What a connection is for, by its first bytes: a hello has its channel there. */
function purposeOf(first: Buffer): string {
  return first.toString('latin1', 0, 8) === 'coll-dat' ? 'data' : `channel ${first.readUInt16BE(10)}`;
}
