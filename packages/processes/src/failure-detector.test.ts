import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, Socket } from 'node:net';
import type { UnavailableError } from '@coll/core';
import type { StoreRendezvous } from '@coll/rendezvous';
import { afterEach, expect, it, vi } from 'vitest';
import { NetworkDouble } from '../test/faults/network-double.js';
import { connect } from './connect.js';
import { FailureDetector } from './failure-detector.js';
import { secretBytes, watchChannel } from './hello.js';
import { Listener } from './listener.js';
import { type MemberConfig, memberOf } from './member-config.js';
import { type Address, type PeerInfo, peerInfoOf, readPeerInfo } from './peer-info.js';
import { processBinding } from './process-binding.js';
import { Sockets } from './sockets.js';

const data = { port: 4712, nonce: Buffer.alloc(32), cipher: 'TLS_AES_128_GCM_SHA256' };

const jobKey = randomBytes(16).toString('hex');
const host = '127.0.0.1';
const secret = Buffer.alloc(secretBytes);
const binding = processBinding().processes;

/** A listening member on its own host. */
class Member {
  readonly member: MemberConfig;
  readonly lost: UnavailableError[] = [];
  #sockets = new Sockets(binding);
  #listener: Listener | undefined;
  #detector: FailureDetector | undefined;

  constructor(rank: number, size: number) {
    this.member = memberOf({ rank, size, jobKey, heartbeatSeconds: 0.1 });
  }

  async listen(): Promise<Address> {
    this.#listener = await Listener.listen({ member: this.member, host, secret, sockets: this.#sockets });
    return this.#listener.address;
  }

  watch(peers: readonly PeerInfo[]): void {
    const { member } = this;
    const listener = this.#listener as Listener;
    const mesh = { member, host, secret, sockets: this.#sockets, peers, listener, rendezvous: {} as StoreRendezvous };
    this.#detector = new FailureDetector(mesh, (error) => this.lost.push(error));
  }

  leave(): void {
    this.#detector?.close();
    this.#listener?.close();
    this.#sockets.close();
  }
}

const members: Member[] = [];
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const member of members.splice(0)) member.leave();
});

async function sit(size: number): Promise<readonly PeerInfo[]> {
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  members.push(...ranks.map((rank) => new Member(rank, size)));
  const addresses = await Promise.all(members.map((member) => member.listen()));
  return ranks.map((rank) => {
    const { member } = members[rank] as Member;
    return readPeerInfo(
      peerInfoOf(member, { name: `host-${rank}`, bootId: '' }, [addresses[rank] as Address], '', data),
      rank,
    );
  });
}

const named = (rank: number) => (members[rank] as Member).lost.map((error) => error.rank);

it.each([0, 1, 2, 3])('only the two neighbours of rank %i of 4 report the end of this rank', async (rank) => {
  const given = vi.spyOn(Sockets.prototype, 'giveBack');
  const peers = await sit(4);
  for (const member of members) member.watch(peers);
  await expect.poll(() => given.mock.calls.length).toBeGreaterThanOrEqual(8);
  members[rank]?.leave();
  for (const neighbour of [(rank + 1) % 4, (rank + 3) % 4]) await expect.poll(() => named(neighbour)).toEqual([rank]);
  expect(named((rank + 2) % 4)).toEqual([]);
  expect(members[(rank + 1) % 4]?.lost[0]).toMatchObject({
    code: 'ERR_COLL_PEER_FAILED',
    message: `rank ${rank} on host-${rank} exited before the group was open: see the output of that process; then open the group again with the next generation`,
  });
});

it('rank 0 detects that the last rank ended before it connected to rank 0', async () => {
  const peers = await sit(2);
  members[1]?.leave();
  members[0]?.watch(peers);
  await expect.poll(() => named(0)).toEqual([1]);
});

it.each([
  ['host-0', 'rank 0 on host-0 exited before the group was open: see the output of that process'],
  [
    'other',
    'rank 1 on host-1 cannot connect to rank 0 on other at 127.0.0.1:PORT: connection refused; if rank 0 has exited, see the output of that process; otherwise a firewall or a wrong COLL_HOST on other is likely',
  ],
])('a refused connection proves that a process has exited only on its own host (%s)', async (name, message) => {
  const [first, second] = (await sit(2)) as [PeerInfo, PeerInfo];
  members[0]?.leave();
  const bootId = 'the same';
  const near = { ...second, hostName: name === 'host-0' ? name : 'host-1', bootId };
  members[1]?.watch([{ ...first, hostName: name, bootId }, near]);
  await expect.poll(() => named(1)).toEqual([0]);
  const port = `${first.addresses[0]?.port}`;
  expect(members[1]?.lost[0]).toMatchObject({
    ...{ code: 'ERR_COLL_PEER_FAILED', ranks: [0], operation: 'open a group' },
    message: `${message.replace('PORT', port)}; then open the group again with the next generation`,
  });
});

it.each([
  ['ECONNRESET', 'rank 1 on host-1 exited before the group was open: see the output of that process'],
  [
    'ETIMEDOUT',
    'rank 0 on host-0 lost its connection with rank 1 on host-1 before the group was open (ETIMEDOUT): check both hosts and the network',
  ],
])('the failure detector reports how a connection ended after the error %s', async (code, message) => {
  const peers = await sit(2);
  const [first, second] = members as [Member, Member];
  const shown: Socket[] = [];
  vi.spyOn(Sockets.prototype, 'giveBack').mockImplementation(() => {
    shown.push(new Socket());
    return shown[0] as Socket;
  });
  first.watch(peers);
  const sockets = new Sockets(binding);
  const { signal } = new AbortController();
  const { addresses } = peers[0] as PeerInfo;
  await connect({ member: second.member, secret, sockets, rank: 0, addresses, channel: watchChannel, signal });
  await expect.poll(() => shown.length).toBe(1);
  const cause = Object.assign(new Error('it broke'), { code });
  shown[0]?.destroy(cause);
  await expect.poll(() => named(0)).toEqual([1]);
  expect(first.lost[0]).toMatchObject({
    ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', operation: 'open a group', cause },
    message: `${message}; then open the group again with the next generation`,
  });
  sockets.close();
});

it('only rank 0 checks whether the last member still listens', async () => {
  const looks: Socket[] = [];
  const server = createServer((socket) => looks.push(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const peers = await sit(4);
  const [first, second, third, last] = peers as [PeerInfo, PeerInfo, PeerInfo, PeerInfo];
  for (const rank of [1, 0]) members[rank]?.watch([first, second, third, { ...last, addresses: [{ host, port }] }]);
  await expect.poll(() => looks.length).toBeGreaterThan(0);
  expect(looks).toHaveLength(1);
  for (const socket of looks) socket.destroy();
  server.close();
});

it('the failure detector reports nothing if a new connection replaces one that ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  const given = vi.spyOn(Sockets.prototype, 'giveBack');
  const [first, second] = (await sit(2)) as [PeerInfo, PeerInfo];
  const network = new NetworkDouble();
  const port = await network.route(1, 0, first.addresses[0]?.port as number);
  members[0]?.watch([first, second]);
  members[1]?.watch([{ ...first, addresses: [{ host, port }] }, second]);
  for (const connections of [2, 4, 6]) {
    await expect.poll(() => given.mock.calls.length).toBeGreaterThanOrEqual(connections);
    if (connections < 6) network.cut(1);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect([named(0), named(1)]).toEqual([[], []]);
  // Without a new connection, the member is reported as lost.
  members[1]?.leave();
  await expect.poll(() => named(0)).toEqual([1]);
  network.close();
});

it('the failure detector reports nothing if this process gets no CPU for longer than the heartbeat limit', async () => {
  const given = vi.spyOn(Sockets.prototype, 'giveBack');
  const [first, second] = (await sit(2)) as [PeerInfo, PeerInfo];
  const network = new NetworkDouble();
  const port = await network.route(1, 0, first.addresses[0]?.port as number);
  members[0]?.watch([first, second]);
  members[1]?.watch([{ ...first, addresses: [{ host, port }] }, second]);
  await expect.poll(() => given.mock.calls.length).toBeGreaterThanOrEqual(2);
  const { forget } = Listener.prototype;
  vi.spyOn(Listener.prototype, 'forget').mockImplementation(function (this: Listener, connection) {
    forget.call(this, connection);
    // At this point rank 0 has noticed that its connection closed, and the next one has not arrived
    // yet.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500));
  });
  network.cut(1);
  await expect.poll(() => given.mock.calls.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
  expect([named(0), named(1)]).toEqual([[], []]);
  network.close();
});
