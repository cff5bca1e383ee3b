import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { controlChannel, lengths, messageChannel, sealedControlChannel, sealedMessageChannel } from '../src/hello.js';
import { type OpenedProcessGroup, type OpenProcessGroupOptions, openProcessGroup } from '../src/index.js';
import { memberOf } from '../src/member-config.js';
import type { SocketSeal } from '../src/sealed-socket.js';
import { sealOf } from '../src/sealing.js';
import { ticketsOf } from '../src/tickets.js';
import { reroutedStore } from './faults/rerouted-store.ts';
import { decodePeer } from './peer-record.js';

const halfBytes = 32;
// The first message of a data connection, and where it has the number of the connection.
const requestBytes = 48;
const indexAt = 12;

/** What encrypted connections are for, as `Tapped` says it. */
export const purposes = {
  control: `channel ${sealedControlChannel}`,
  messages: `channel ${sealedMessageChannel}`,
  data: 'data',
};

/** The same of connections that are not encrypted. */
export const clearPurposes = {
  control: `channel ${controlChannel}`,
  messages: `channel ${messageChannel}`,
  data: 'data',
};

/** A connection between two ranks, in the hands of an attacker. */
export interface Tapped {
  readonly purpose: string;
  /** The port of the lower rank, which accepts. */
  readonly port: number;
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
  readonly #memory = new MemoryStore();
  readonly #nonces: Buffer[] = [];
  readonly #host: string;
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];

  /** `host`: the address of this machine where ranks listen. */
  constructor(host = '127.0.0.1') {
    this.#host = host;
  }

  /** Opens a group of two ranks whose connections pass through this network. */
  open(
    more: Partial<OpenProcessGroupOptions> = {},
  ): readonly [Promise<OpenedProcessGroup>, Promise<OpenedProcessGroup>] {
    const open = (rank: number) => {
      const member = { rank, size: 2, jobKey: this.jobKey };
      const store = rank === 0 ? this.#memory : reroutedStore(this.#memory, member, (_, port) => this.#route(port));
      const options = { host: this.#host, transport: 'tcp', encrypt: 'always', timeoutSeconds: 20, ...more } as const;
      return openProcessGroup({ ...member, ...options, store });
    };
    return [open(0), open(1)];
  }

  /** The connections for a purpose: `data`, or `channel` and a number of `hello.ts`. */
  about(purpose: string): readonly Tapped[] {
    return this.connections.filter((connection) => connection.purpose === purpose);
  }

  /** How many bytes an end says in clear before TLS begins. */
  clearBytes(purpose: string, end: 0 | 1): number {
    if (purpose === 'data') return end === 0 ? requestBytes : 0;
    return end === 0 ? lengths.hello + lengths.proof : lengths.challenge + lengths.welcome;
  }

  /** What seals a connection whose ends have said everything in clear, for an attacker with the job key. */
  sealOf({ purpose, said }: Tapped): SocketSeal {
    const member = memberOf({ rank: 0, size: 2, jobKey: this.jobKey });
    const [connecting, accepting] = said;
    if (purpose === 'data') {
      const index = connecting.readUInt32LE(indexAt);
      const tickets = Buffer.from(ticketsOf(member, [0, 1], this.#nonces, index + 1, true)).subarray(-2 * halfBytes);
      return { identity: tickets.subarray(0, halfBytes), key: tickets.subarray(halfBytes) };
    }
    const [hello, proof] = [connecting.subarray(0, lengths.hello), connecting.subarray(lengths.hello)];
    const [challenge, welcome] = [accepting.subarray(0, lengths.challenge), accepting.subarray(lengths.challenge)];
    const bytes = (part: Buffer, name: 'proof' | 'welcome') => part.subarray(0, lengths[name]);
    return sealOf(member.key, [hello, challenge, bytes(proof, 'proof'), bytes(welcome, 'welcome')]);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  async #route(port: number): Promise<number> {
    const infos = await Promise.all([0, 1].map((rank) => this.#memory.get(`generation/0/peers/${rank}`)));
    for (const [rank, info] of infos.entries())
      this.#nonces[rank] = Buffer.from(
        decodePeer(info, rank, { rank, size: 2, jobKey: this.jobKey }).info.nonce,
        'base64',
      );
    const server = createServer({ noDelay: true }, (near) => {
      const far = connect({ host: this.#host, port, noDelay: true });
      this.#sockets.push(near, far);
      this.#relay([near, far], port);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, this.#host, resolve));
    return (server.address() as AddressInfo).port;
  }

  #relay(ends: readonly [Socket, Socket], port: number): void {
    let tapped: Tapped | undefined;
    for (const from of [0, 1] as const) {
      const [own, other] = [ends[from], ends[from === 0 ? 1 : 0]];
      own.on('data', (part: Buffer) => {
        if (!tapped) {
          tapped = { purpose: purposeOf(part), port, said: [Buffer.of(), Buffer.of()], ends };
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
