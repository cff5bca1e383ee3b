import { UnavailableError } from '@coll/core';
import { connectOne, type Mesh } from './connections.js';
import { watchChannel } from './hello.js';
import { isSameHost } from './host.js';
import type { Connection } from './listener.js';
import { Refusals, untilDeaf } from './listening.js';
import { hostOf, type PeerInfo } from './peer-info.js';

const turnMillis = 50;

// Who gives up ends its connections a moment before the others hear why.
const goneSeconds = 0.9;
// A firewall may keep rank 0 from the last member, which needs some time to connect from its side.
const fewestSilentSeconds = 5;
const keepAliveMillis = 1000;

/**
 * Calls back after so many seconds of a machine that is not busy: in turns of the event loop, which take as much longer as this process waits for
 * a core, and others of the machine with it. @returns what ends that
 */
function afterTurns(seconds: number, act: () => void): () => void {
  let left = Math.ceil((seconds * 1000) / turnMillis);
  let timer: NodeJS.Timeout;
  const wait = () => {
    timer = setTimeout(() => {
      left--;
      if (left > 0) wait();
      else act();
    }, turnMillis);
  };
  wait();
  return () => clearTimeout(timer);
}

/**
 * Sees, while a group opens, that a member has ended, so that nobody waits in vain for it. Members make a ring by rank. FailureDetector hold a connection that says nothing: it ends with either
 * process, and about eleven seconds after the other host has fallen silent. As everywhere, the higher rank connects to the lower one, which refuses where it has ended. Nobody connects
 * to the last one, and it may end before it has connected to rank 0: so rank 0 looks whether it still listens.
 */
export class FailureDetector {
  readonly #mesh: Mesh;
  readonly #over = new AbortController();
  /** Ends the last look, and what would tell of a member whose connection has ended. */
  readonly #forgive = new Map<number, () => void>();
  #tell: (error: UnavailableError) => void;

  /** @param tell who is lost, once at most */
  constructor(mesh: Mesh, tell: (error: UnavailableError) => void) {
    this.#mesh = mesh;
    this.#tell = tell;
    const { rank, size } = mesh.member;
    const neighbours = new Set([(rank + 1) % size, (rank + size - 1) % size]);
    neighbours.delete(rank);
    for (const neighbour of neighbours) void this.#watch(neighbour);
    if (rank === 0 && size > 1) void this.#lookFor(size - 1);
  }

  /** Tells nothing from now on. Others, which may not have come so far, still see that this member is there. */
  stop(): void {
    this.#tell = () => {};
  }

  /** Ends the connections, too. */
  close(): void {
    this.stop();
    this.#over.abort();
    for (const forgive of this.#forgive.values()) forgive();
  }

  async #watch(rank: number): Promise<void> {
    const { signal } = this.#over;
    try {
      for (;;) {
        const connection = await this.#reach(rank);
        signal.throwIfAborted();
        this.#forgive.get(rank)?.();
        const why = await this.#endOf(connection);
        signal.throwIfAborted();
        // Whoever is there comes again at once.
        this.#forgive.set(
          rank,
          afterTurns(goneSeconds, () => this.#lose(rank, why)),
        );
      }
    } catch {
      // It is over, or whoever listens there now refuses this member.
    }
  }

  #reach(rank: number): Promise<Connection> {
    const refusals = new Refusals();
    return connectOne(this.#mesh, { rank, channel: watchChannel }, this.#over.signal, (why) => {
      if (refusals.haveLasted(goneSeconds, why)) this.#lose(rank);
    });
  }

  /** Waits until a connection ends: what ended it; undefined where the other side did. */
  async #endOf(connection: Connection): Promise<Error | undefined> {
    const { sockets, listener } = this.#mesh;
    const { signal } = this.#over;
    const descriptor = connection.socket;
    const socket = sockets.giveBack(descriptor);
    const end = () => socket.destroy();
    let why: Error | undefined;
    socket.setKeepAlive(true, keepAliveMillis);
    socket.on('error', (error) => {
      why = error;
    });
    socket.on('end', end);
    // Nothing is said here.
    socket.on('data', end);
    signal.addEventListener('abort', end);
    await new Promise((resolve) => socket.once('close', resolve));
    signal.removeEventListener('abort', end);
    // A newer one may have taken its place.
    if (connection.socket === descriptor) listener.forget(connection);
    return why;
  }

  async #lookFor(rank: number): Promise<void> {
    const { peers, member } = this.#mesh;
    const [own, last] = [peers[member.rank], peers[rank]] as [PeerInfo, PeerInfo];
    const met = new AbortController();
    this.#forgive.set(rank, () => met.abort());
    try {
      await untilDeaf({
        addresses: last.addresses,
        goneSeconds,
        silentSeconds: Math.max(member.heartbeatSeconds, fewestSilentSeconds),
        isReachable: isSameHost(hostOf(own), hostOf(last)),
        signal: met.signal,
      });
      this.#lose(rank);
    } catch {
      // It has connected, or all is over.
    }
  }

  #lose(rank: number, why?: Error): void {
    const tell = this.#tell;
    this.stop();
    const { member, peers } = this.#mesh;
    const [own, lost] = [member.rank, rank].map((one) => `rank ${one} on ${peers[one]?.hostName}`);
    const code = (why as NodeJS.ErrnoException | undefined)?.code;
    // A process that ends may leave a connection that is reset.
    const told =
      code === undefined || code === 'ECONNRESET'
        ? `${lost} has ended before the group was open: look at its own error`
        : `${own} lost its connection with ${lost} before the group was open (${code}): look at both hosts and the network`;
    const details = { rank, operation: 'open a group', cause: why };
    tell(new UnavailableError('ERR_COLL_PEER_FAILED', `${told}, and open the next generation`, details));
  }
}
