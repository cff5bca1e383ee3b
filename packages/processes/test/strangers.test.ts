import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeHello, encodeProof, encodeRefusal, encodeWelcome, lengths } from '../src/hello.js';
import { type OpenedProcessGroup, type OpenProcessGroupOptions, openProcessGroup } from '../src/index.js';
import { memberOf } from '../src/member-config.js';
import type { Address } from '../src/peer-info.js';
import { decodePeer } from './peer-record.js';

const jobKey = TcpStoreServer.newKey();
const sum = { kind: 'all-reduce', op: 'sum' } as const;

/** Both members in this process, the second one later: in between, strangers have rank 0 for themselves. */
class Opening {
  readonly store = new MemoryStore();
  readonly first: Promise<OpenedProcessGroup>;

  constructor(options: OpenProcessGroupOptions = {}) {
    this.first = this.open(0, options);
    this.first.catch(() => {});
  }

  open(rank: number, options: OpenProcessGroupOptions = {}): Promise<OpenedProcessGroup> {
    return openProcessGroup({ store: this.store, rank, size: 2, jobKey, job: 'mine', timeoutSeconds: 120, ...options });
  }

  /** A connection to rank 0, which has shown where it listens: for handshakes, or for data. */
  async stranger(at: 'addresses' | 'data' = 'addresses'): Promise<Stranger> {
    const record = await this.store.get('job/mine/generation/0/peers/0');
    const { addresses, dataPort } = decodePeer(record, 0, { rank: 1, size: 2, jobKey, job: 'mine' }).info;
    const address = addresses[0] as Address;
    const socket = connect(at === 'data' ? { ...address, port: dataPort } : address);
    await once(socket, 'connect');
    return new Stranger(socket);
  }

  /** The second member comes, and the group works. */
  async expectToWork(): Promise<void> {
    const second = await this.open(1);
    const first = await this.first;
    const outputs = [tensor(new Float32Array(2)), tensor(new Float32Array(2))] as const;
    await Promise.all(
      [first, second].map((group, rank) =>
        group.communicator(directAlgorithm()).run(sum, [tensor(new Float32Array([1, 2]))], [outputs[rank] as never]),
      ),
    );
    for (const { data } of outputs) expect([...data]).toEqual([2, 4]);
    await Promise.all([first.close(), second.close()]);
  }
}

class Stranger {
  readonly socket: Socket;
  #bytes = Buffer.of();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (part) => {
      this.#bytes = Buffer.concat([this.#bytes, part]);
    });
    socket.on('error', () => {});
  }

  async read(length: number): Promise<Buffer> {
    while (this.#bytes.length < length) await once(this.socket, 'data');
    const message = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return message;
  }

  /** All data that it receives until the connection ends. */
  async ending(): Promise<Buffer> {
    if (!this.socket.closed) await once(this.socket, 'close');
    return this.#bytes;
  }
}

/** How a member with these options says hello to rank 0. */
function helloOf(options: OpenProcessGroupOptions = {}): Buffer {
  return encodeHello(memberOf({ rank: 1, size: 2, jobKey, job: 'mine', ...options }), 0, 0);
}

describe('a group that opens among unauthenticated connections', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  it('refuses connections that send unknown bytes', async () => {
    const opening = new Opening();
    const cases: readonly Buffer[] = [
      Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.padEnd(lengths.hello, ' ')),
      randomBytes(lengths.hello),
      // More than a member says.
      Buffer.concat([helloOf(), randomBytes(1000)]),
    ];
    for (const bytes of cases) {
      const stranger = await opening.stranger();
      stranger.socket.write(bytes);
      expect((await stranger.ending()).length).toBeLessThanOrEqual(lengths.welcome);
    }
    await opening.expectToWork();
  });

  it('closes connections that send nothing or stop in the middle of the handshake', async () => {
    const opening = new Opening();
    const silent = await opening.stranger();
    const half = await opening.stranger();
    half.socket.write(helloOf().subarray(0, 50));
    const unproven = await opening.stranger();
    unproven.socket.write(helloOf());
    await unproven.read(lengths.challenge);
    const begin = performance.now();
    await Promise.all([silent, half, unproven].map((stranger) => stranger.ending()));
    expect(performance.now() - begin).toBeLessThan(60_000);
    await opening.expectToWork();
  });

  it('opens despite 200 such connections', async () => {
    const opening = new Opening();
    const many = await Promise.all(Array.from({ length: 200 }, () => opening.stranger()));
    await opening.expectToWork();
    for (const { socket } of many) socket.destroy();
  });

  it('closes data connections that send nothing or no valid ticket, and works despite 200 of them', async () => {
    const opening = new Opening({ transport: 'tcp' });
    const silent = await opening.stranger('data');
    const wrong = await opening.stranger('data');
    wrong.socket.write(Buffer.concat([Buffer.from('coll-dat'), Buffer.of(1, 0, 0, 0, 0, 0, 0, 0), randomBytes(32)]));
    const [first, second] = await Promise.all([opening.first, opening.open(1, { transport: 'tcp' })]);
    const begin = performance.now();
    expect((await wrong.ending()).length).toBe(0);
    expect((await silent.ending()).length).toBe(0);
    expect(performance.now() - begin).toBeLessThan(60_000);
    const many = await Promise.all(Array.from({ length: 200 }, () => opening.stranger('data')));
    const groups = [first, second];
    const sums = await Promise.all(groups.map((group) => group.allReduce('sum', new Float32Array([1, 2]))));
    expect(sums).toEqual([new Float32Array([2, 4]), new Float32Array([2, 4])]);
    for (const { socket } of many) socket.destroy();
    await Promise.all(groups.map((group) => group.close()));
  });

  it('refuses proofs made with another key, for another handshake, or replayed', async () => {
    const opening = new Opening();
    const { key } = memberOf({ rank: 1, size: 2, jobKey, job: 'mine' });
    const recorded: Buffer[] = [];
    for (const proofBy of [
      (hello: Buffer, challenge: Buffer) => encodeProof(randomBytes(32), [hello, challenge], Buffer.alloc(48)),
      (hello: Buffer, challenge: Buffer) => {
        const proof = encodeProof(key, [hello, challenge], Buffer.alloc(48));
        // One bit of what it says.
        proof[3] = (proof[3] as number) ^ 1;
        return proof;
      },
      (_: Buffer, challenge: Buffer) => {
        const proof = encodeProof(key, [helloOf(), challenge], Buffer.alloc(48));
        recorded.push(proof);
        return proof;
      },
      () => recorded[0] as Buffer,
      (hello: Buffer, challenge: Buffer) => encodeWelcome(key, [hello, challenge], Buffer.alloc(48)).subarray(5),
    ]) {
      const stranger = await opening.stranger();
      const hello = helloOf();
      stranger.socket.write(hello);
      stranger.socket.write(proofBy(hello, await stranger.read(lengths.challenge)));
      // Refused, because of the key.
      expect(await stranger.ending()).toEqual(encodeRefusal({ why: 'key', detail: 0 }));
    }
    await opening.expectToWork();
  });

  it('sends an unauthenticated peer nothing derived from the job key', async () => {
    const opening = new Opening();
    const nonces: string[] = [];
    // The same hello again, so that whatever depends on it and the key alone would be the same.
    const hello = helloOf();
    for (let attempt = 0; attempt < 3; attempt++) {
      const stranger = await opening.stranger();
      stranger.socket.write(hello);
      const challenge = await stranger.read(lengths.challenge);
      stranger.socket.write(randomBytes(lengths.proof));
      expect(await stranger.ending()).toEqual(encodeRefusal({ why: 'key', detail: 0 }));
      expect(challenge.subarray(0, 5)).toEqual(Buffer.alloc(5));
      expect(challenge.length).toBe(5 + 32);
      nonces.push(challenge.toString('hex', 5));
    }
    expect(new Set(nonces).size).toBe(nonces.length);
    await opening.expectToWork();
  });

  it('refuses a peer of another job, generation, version or size with a message that states the difference', async () => {
    const opening = new Opening();
    const version = helloOf();
    version.writeUInt16BE(99, 8);
    for (const [hello, why] of [
      [version, 1],
      [helloOf({ job: 'theirs' }), 2],
      [helloOf({ generation: 3 }), 3],
      [helloOf({ rank: 1, size: 3 }), 6],
    ] as const) {
      const stranger = await opening.stranger();
      stranger.socket.write(hello);
      const answer = await stranger.ending();
      expect(answer.length).toBe(lengths.welcome);
      expect(answer[0]).toBe(why);
    }
    await opening.expectToWork();
  });

  it('reports a peer with another job key to all members', async () => {
    const opening = new Opening();
    // Each of two members may find that the other one has a different key.
    const openings = [opening.open(1, { jobKey: TcpStoreServer.newKey() }), opening.first];
    for (const result of await Promise.allSettled(openings)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: {
          ...{ name: 'CollError', code: 'ERR_COLL_STORE' },
          message: expect.stringMatching(/^rank [01] has a different job key, or somebody has altered its record/),
        },
      });
    }
  });
});
