import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { CollError } from '@coll/core';
import type { PointToPoint, Post, Postbox } from '@coll/core/internal';
import { Checksums } from './checksums.js';
import { connectOne, type Mesh } from './connections.js';
import { messageChannel, sealedMessageChannel } from './hello.js';
import { isSameHost } from './host.js';
import { Refusals, untilDeaf } from './listening.js';
import { hostOf, type PeerInfo } from './peer-info.js';
import { bytesOf, encodePost, encodeReady, PostReader } from './post-frames.js';
import { processBinding } from './process-binding.js';
import { refusalText } from './refusal-text.js';
import { sealingFailed, sealSocket } from './sealed-socket.js';
import { cipherBetween, isChecksummedBetween, isSealedBetween } from './sealing.js';

/** A rank from which this process receives posts (steps of messages). */
interface Peer {
  /** The connection to the rank; undefined until it exists. */
  socket: Socket | undefined;
  /** Whether this process may write: both ranks have taken the connection over from the handshake. */
  isReady: boolean;
  /** Those of the connection, if it has some. */
  checksums?: Checksums;
  /** Descriptor of the connection. */
  descriptor: number;
  /** The post that is being written, and those that wait behind it. */
  writing?: Promise<void> | undefined;
  hasLeft: boolean;
  /** Why the connection has ended, if not because the rank has left. */
  problem?: string;
  /** Aborts the attempts to connect to the rank. */
  readonly stop: AbortController;
}

/** The group's members and their addresses. */
export type MessageMesh = Omit<Mesh, 'meeting'>;

/** What a postbox must know of its group. */
export interface PostboxGroup {
  readonly failure: CollError | undefined;
  /** The ranks that have left the group. */
  readonly leavers: readonly number[];
}

// Seconds of refused connections after which a member counts as lost; the same as in the failure
// detector.
const goneSeconds = 0.9;
// A firewall may keep this rank from reaching a member that can reach this rank.
const fewestSilentSeconds = 5;
// The reason why a member has left may arrive slightly after its connection has closed.
const graceMillis = 1000;
// Time for the other members to read what was sent to them before this member closed its group; the
// same as for the collectives in which it took part.
const longestDrainMillis = 5000;
// The same, if the group has failed, so that nobody waits for it any more.
const shortDrainMillis = 500;
// Upper bound of the bytes that are written at once. On a protected connection, all of them are
// encrypted or summed before the first is sent.
const mostBytes = 2 ** 30;
const mostProtectedBytes = 2 ** 20;
const noBytes = new Uint8Array();

/**
 * Sends and receives the posts (steps of messages) of one process. Each pair of ranks that
 * exchanges messages has a TCP connection, which the higher rank opens for the first message.
 */
export class ProcessPostbox implements Postbox {
  readonly #mesh: MessageMesh;
  readonly #messages: () => PointToPoint;
  readonly #group: PostboxGroup;
  readonly #peers = new Map<number, Peer>();
  readonly #over = new AbortController();
  #isWaiting = false;

  /** `messages` returns the object that receives the posts (steps of messages) of other ranks. */
  constructor(mesh: MessageMesh, messages: () => PointToPoint, group: PostboxGroup) {
    this.#mesh = mesh;
    this.#messages = messages;
    this.#group = group;
  }

  /** The descriptors of all connections on which this process may have sent something. */
  get descriptors(): readonly number[] {
    const ready = [...this.#peers.values()].filter(({ socket, isReady }) => isReady && socket?.destroyed === false);
    return ready.map(({ descriptor }) => descriptor);
  }

  open(rank: number): void {
    const known = this.#peers.get(rank);
    if (known?.hasLeft) void Promise.resolve().then(() => this.#messages().left(rank, known.problem));
    if (known) return;
    const stop = new AbortController();
    const peer: Peer = { socket: undefined, isReady: false, descriptor: -1, hasLeft: false, stop };
    this.#peers.set(rank, peer);
    void this.#connect(rank, peer);
  }

  post(rank: number, post: Post): Promise<void> | undefined {
    const peer = this.#peers.get(rank);
    const socket = peer?.socket;
    // The caller posts again once the ranks are connected.
    if (!peer?.isReady || !socket) return undefined;
    const bytes = post.type === 'elements' ? bytesOf(post.data) : noBytes;
    const { length } = bytes;
    const out = { socket, checksums: peer.checksums };
    const begin = () => written(out, encodePost(post), bytes, length);
    const writing = peer.writing ? peer.writing.then(begin) : begin();
    keepTurn(peer, writing);
    if (post.type === 'elements') return writing;
    return undefined;
  }

  isDraining(rank: number, { code, rank: culprit }: CollError): boolean {
    if (!this.#peers.get(rank)?.isReady) return false;
    return (code === 'ERR_COLL_CLOSED' && culprit === rank) || this.#group.leavers.includes(rank);
  }

  setWaiting(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    const method = isWaiting ? 'ref' : 'unref';
    this.#mesh.listener[method]();
    for (const { socket } of this.#peers.values()) socket?.[method]();
  }

  async close(): Promise<void> {
    this.#over.abort();
    const { failure } = this.#group;
    const isAwaited = !failure || failure.code === 'ERR_COLL_CLOSED';
    const millis = isAwaited ? longestDrainMillis : shortDrainMillis;
    const peers = [...this.#peers.values()];
    await Promise.all(peers.map((peer) => untilRead(peer, peer.isReady ? millis : 0)));
  }

  async #connect(rank: number, peer: Peer): Promise<void> {
    const { member, peers, sockets, listener } = this.#mesh;
    const signal = AbortSignal.any([this.#over.signal, peer.stop.signal]);
    const refusals = new Refusals();
    const found = new AbortController();
    try {
      // A member that no longer listens has left.
      if (rank > member.rank) void this.#watchFor(rank, peer, AbortSignal.any([signal, found.signal]));
      const isSealed = isSealedBetween(peers, member.rank, rank);
      const channel = isSealed ? sealedMessageChannel : messageChannel;
      const connection = await connectOne(this.#mesh, { rank, channel }, signal, (why) => {
        if (refusals.haveLasted(goneSeconds, why)) this.#leave(rank, peer, true);
      });
      if (rank > member.rank) listener.forget(connection);
      if (signal.aborted) return sockets.discard(connection.socket);
      peer.descriptor = connection.socket;
      const socket = sockets.giveBack(connection.socket);
      if (isChecksummedBetween(peers, member.rank, rank)) peer.checksums = new Checksums(processBinding().processes);
      if (!isSealed) return this.#attach(rank, peer, socket);
      // An error of the connection below is one of the sealed connection, too.
      socket.on('error', () => {});
      const cipher = cipherBetween(peers, member.rank, rank);
      this.#attach(rank, peer, sealSocket(socket, connection.seal, { isServer: rank > member.rank, cipher }));
    } catch {
      // The group is closed, the member has left, or a different process now listens at its address
      // and refuses this one.
      this.#leave(rank, peer);
    } finally {
      found.abort();
    }
  }

  #attach(rank: number, peer: Peer, socket: Socket): void {
    const messages = this.#messages();
    const reader = new PostReader({
      rank: this.#mesh.member.rank,
      peer: rank,
      memoryFor: (id) => messages.memoryFor(id),
      deliver: (post) => messages.deliver(post),
    });
    // The higher rank still reads the handshake until it has sent `ready`, so this rank must not
    // write before.
    const begin = () => {
      peer.isReady = true;
      messages.reached(rank);
    };
    peer.socket = socket;
    socket.setNoDelay(true);
    if (!this.#isWaiting) socket.unref();
    const take = (bytes: Uint8Array) => {
      if (!peer.isReady) begin();
      return reader.read(bytes);
    };
    socket.on('data', (bytes) => {
      if (peer.checksums ? peer.checksums.read(bytes, take) : take(bytes)) return;
      peer.problem = this.#alteredText(rank);
      socket.destroy();
    });
    socket.on('error', (error) => {
      if (isTlsError(error)) peer.problem = this.#alteredText(rank);
    });
    socket.on('close', () => {
      peer.socket = undefined;
      peer.isReady = false;
      this.#leave(rank, peer);
    });
    if (rank > this.#mesh.member.rank) return;
    keepTurn(peer, handOver({ socket, checksums: peer.checksums }, [encodeReady()]));
    begin();
  }

  async #watchFor(rank: number, peer: Peer, signal: AbortSignal): Promise<void> {
    const { peers, member } = this.#mesh;
    const [own, other] = [peers[member.rank], peers[rank]] as [PeerInfo, PeerInfo];
    try {
      await untilDeaf({
        addresses: other.addresses,
        goneSeconds,
        silentSeconds: Math.max(member.heartbeatSeconds, fewestSilentSeconds),
        isReachable: isSameHost(hostOf(own), hostOf(other)),
        signal,
      });
      this.#leave(rank, peer, true);
    } catch {
      // The member has connected, or the group is closed.
    }
  }

  /**
   * Ends the messages with a rank that was lost, after a short wait: by then the group has failed,
   * so that pending messages throw the error of the group. Altered bytes are reported at once, because
   * nobody else knows of them, and the other rank only sees that its connection ends.
   */
  #leave(rank: number, peer: Peer, isRefused = false): void {
    if (this.#over.signal.aborted || peer.stop.signal.aborted) return;
    peer.stop.abort();
    const end = () => {
      peer.hasLeft = true;
      if (this.#over.signal.aborted) return;
      // A member that has left refuses connections, too.
      const isStillThere = isRefused && !this.#group.leavers.includes(rank);
      if (isStillThere) peer.problem = refusalText(this.#mesh, rank, true);
      this.#messages().left(rank, peer.problem);
    };
    // A process that waits for a message is kept alive by its listener.
    if (peer.problem === undefined) setTimeout(end, graceMillis).unref();
    else end();
  }

  #alteredText(rank: number): string {
    const { hostName } = this.#mesh.peers[rank] as PeerInfo;
    const what = `corrupt or foreign bytes arrived over its connection for messages with rank ${this.#mesh.member.rank}`;
    return `rank ${rank} on ${hostName} was lost: ${what}: find what alters the data on the way or writes to that connection`;
  }
}

/** Whether a connection has ended because of what arrived. Errors of the system have other codes. */
function isTlsError({ code = '' }: NodeJS.ErrnoException): boolean {
  // Node.js reports an error of TLS as EPROTO if something waits to be written.
  return code === sealingFailed || code === 'EPROTO' || code.startsWith('ERR_SSL_');
}

type Out = { readonly socket: Socket; readonly checksums: Checksums | undefined };

/** Writes to a connection. Resolves when the system has all bytes, so that they outlive this process. */
function handOver({ socket, checksums }: Out, bytes: readonly Uint8Array[]): Promise<void> {
  const parts = checksums ? bytes.flatMap((part) => checksums.recordsOf(part)) : bytes;
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null) => (error ? reject(error) : resolve());
    socket.cork();
    for (const [index, part] of parts.entries()) socket.write(part, index === parts.length - 1 ? done : undefined);
    socket.uncork();
  });
}

/** Writes a post. `length`: of its `bytes`, which the caller may have transferred since. */
async function written(out: Out, header: Uint8Array, bytes: Uint8Array, length: number): Promise<void> {
  if (length === 0) return await handOver(out, [header]);
  const most = mostBytesOf(out);
  for (let at = 0; at < length; at += most) {
    // The caller has transferred its memory: the reader must not take what follows for elements.
    if (bytes.length !== length) {
      out.socket.destroy();
      throw new Error('the memory of the message was transferred');
    }
    const part = bytes.subarray(at, at + most);
    await handOver(out, at === 0 ? [header, part] : [part]);
  }
}

/**
 * Makes later posts wait until a post has been written: all its parts must follow each other, and Node.js
 * would send nothing of memory that is transferred while it waits in a queue of the socket.
 */
function keepTurn(peer: Peer, writing: Promise<void>): void {
  const turn = writing
    // Whoever has posted elements gets the error. The end of the connection reports it for other posts.
    .catch(() => {})
    .then(() => {
      if (peer.writing === turn) peer.writing = undefined;
    });
  peer.writing = turn;
}

function mostBytesOf({ socket, checksums }: Out): number {
  return checksums || socket instanceof TLSSocket ? mostProtectedBytes : mostBytes;
}

/**
 * Ends this side of a connection once all posts are written, and waits until the other side has read
 * everything and ended, too, for at most `millis`. What arrives meanwhile is dropped: a connection that
 * is closed with unread data is reset, and what this side has sent is lost.
 */
function untilRead({ socket, writing }: Peer, millis: number): Promise<void> {
  if (!socket || socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), millis);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.removeAllListeners('data');
    socket.resume();
    socket.ref();
    if (writing) void writing.then(() => socket.end());
    else socket.end();
  });
}
