import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { PointToPoint } from '@coll/core/internal';
import { expect, it, vi } from 'vitest';
import { connect } from './connect.js';
import { messageChannel, secretBytes } from './hello.js';
import { thisHost } from './host.js';
import { Listener } from './listener.js';
import { type MemberConfig, memberOf } from './member-config.js';
import { type PeerInfo, peerInfoOf, readPeerInfo } from './peer-info.js';
import { processBinding } from './process-binding.js';
import { type MessageMesh, ProcessPostbox } from './process-postbox.js';
import { Sockets } from './sockets.js';

const host = '127.0.0.1';
const jobKey = randomBytes(16).toString('hex');
const secret = randomBytes(secretBytes);
const [own, peer] = [0, 1].map((rank) => memberOf({ rank, size: 2, jobKey })) as [MemberConfig, MemberConfig];

/** Rank 0 of two, and a test double of its messages. */
async function rankZero(sockets: Sockets) {
  const listener = await Listener.listen({ member: own, host, secret, sockets });
  const data = { port: 0, nonce: randomBytes(32), cipher: '' };
  const published = peerInfoOf(own, thisHost(), [listener.address], '', data);
  const peers = [readPeerInfo(published, 0), readPeerInfo(published, 1)] as const;
  const mesh = { member: own, host, secret, sockets, peers, listener } as unknown as MessageMesh;
  const messages = { reached: vi.fn(), left: vi.fn() };
  const group = { failure: undefined, leavers: [] };
  const postbox = new ProcessPostbox(mesh, () => messages as unknown as PointToPoint, group);
  return { postbox, messages, listener, peers };
}

/** Rank 1 after its handshake with rank 0, before it has sent `ready`. */
async function connectOther(addresses: PeerInfo['addresses'], sockets: Sockets) {
  const { signal } = new AbortController();
  const options = { member: peer, secret, sockets, rank: 0, channel: messageChannel, addresses, signal };
  const { socket } = await connect(options);
  return sockets.giveBack(socket);
}

it('ends a connection on which the other rank has sent nothing yet', async () => {
  const sockets = new Sockets(processBinding().processes);
  const { postbox, messages, listener, peers } = await rankZero(sockets);
  postbox.open(1);
  const forget = vi.spyOn(listener, 'forget');
  const socket = await connectOther(peers[0].addresses, sockets);
  await vi.waitFor(() => expect(forget).toHaveBeenCalled());
  expect(postbox.post(1, { type: 'offer', from: 0, to: 1, number: 0 })).toBeUndefined();
  const ended = once(socket.resume(), 'close');
  await postbox.close();
  await ended;
  expect([messages.reached.mock.calls, postbox.descriptors]).toEqual([[], []]);
  listener.close();
});

it('takes over no connection that is made while it closes', async () => {
  const sockets = new Sockets(processBinding().processes);
  const giveBack = vi.spyOn(sockets, 'giveBack');
  const { postbox, listener, peers } = await rankZero(sockets);
  postbox.open(1);
  const others = new Sockets(processBinding().processes);
  const forget = vi.spyOn(listener, 'forget');
  // Runs when rank 0 has its connection, before it takes the connection over.
  forget.mockImplementationOnce(() => void postbox.close());
  const socket = await connectOther(peers[0].addresses, others);
  await once(socket.resume(), 'close');
  expect(giveBack).not.toHaveBeenCalled();
  listener.close();
});
