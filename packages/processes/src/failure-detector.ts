import { UnavailableError } from '@coll/core';
import { connectOne, type Mesh } from './connections.js';
import { watchChannel } from './hello.js';
import { isSameHost } from './host.js';
import type { Connection } from './listener.js';
import { Refusals, untilDeaf } from './listening.js';
import { hostOf, type PeerInfo } from './peer-info.js';
import { refusalText } from './refusal-text.js';

const turnMillis = 50;

// A member that fails closes its connections slightly before the other members receive the reason.
const goneSeconds = 0.9;
// A firewall may keep rank 0 from reaching the last member, which then needs some time to connect
// to rank 0.
const fewestSilentSeconds = 5;
const keepAliveMillis = 1000;

/**
 * Calls `act` after `seconds`, counted as timers of 50 ms, one after the other. On a busy machine
 * these timers take longer, which gives the other, equally slow processes more time.
 * @returns a function that cancels the call
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
 * Detects, while a group opens, that a member has exited. Members form a ring by rank. Neighbours
 * keep an idle connection, which closes when either process exits, or about eleven seconds after
 * the other host has become unreachable. The member of higher rank connects to that of lower rank;
 * once the latter has exited, its host refuses connections. No neighbour connects to the last rank,
 * which may exit before it has connected to rank 0, so rank 0 polls whether the last rank still
 * listens.
 */
export class FailureDetector {
  readonly #mesh: Mesh;
  readonly #over = new AbortController();
  /**
   * For each rank, a function that cancels the checks of that rank and the pending report of its
   * loss.
   */
  readonly #forgive = new Map<number, () => void>();
  /** The ranks that have connected: their own hosts report when a connection ends. */
  readonly #met = new Set<number>();
  #tell: (error: UnavailableError) => void;

  /** @param tell called only once: with an error that names the first member that was lost */
  constructor(mesh: Mesh, tell: (error: UnavailableError) => void) {
    this.#mesh = mesh;
    this.#tell = tell;
    const { rank, size } = mesh.member;
    const neighbours = new Set([(rank + 1) % size, (rank + size - 1) % size]);
    neighbours.delete(rank);
    for (const neighbour of neighbours) void this.#watch(neighbour);
    if (rank === 0 && size > 1) void this.#lookFor(size - 1);
  }

  /** Stops reporting. Keeps the connections open, because other members may still watch them. */
  stop(): void {
    this.#tell = () => {};
  }

  /** Stops reporting, and closes the connections. */
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
        this.#met.add(rank);
        this.#forgive.get(rank)?.();
        const why = await this.#endOf(connection);
        signal.throwIfAborted();
        // A live member reconnects at once.
        this.#forgive.set(
          rank,
          afterTurns(goneSeconds, () => this.#lose(rank, why)),
        );
      }
    } catch {
      // The watch has ended, or a different process now listens at the member's address and refuses
      // this one.
    }
  }

  #reach(rank: number): Promise<Connection> {
    const refusals = new Refusals();
    return connectOne(this.#mesh, { rank, channel: watchChannel }, this.#over.signal, (why) => {
      if (refusals.haveLasted(goneSeconds, why)) this.#loseRefused(rank);
    });
  }

  /**
   * Waits until a connection ends. Returns the error that ended it; undefined if the peer closed
   * it.
   */
  async #endOf(connection: Connection): Promise<Error | undefined> {
    const { sockets, listener } = this.#mesh;
    const { signal } = this.#over;
    const socket = sockets.giveBack(connection.socket);
    connection.socket = -1;
    const end = () => socket.destroy();
    let why: Error | undefined;
    socket.setKeepAlive(true, keepAliveMillis);
    socket.on('error', (error) => {
      why = error;
    });
    socket.on('end', end);
    // This connection carries no data.
    socket.on('data', end);
    signal.addEventListener('abort', end);
    await new Promise((resolve) => socket.once('close', resolve));
    signal.removeEventListener('abort', end);
    // A newer connection may have replaced it.
    if (connection.socket < 0) listener.forget(connection);
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
      this.#loseRefused(rank);
    } catch {
      // The member has connected, or the watch has ended.
    }
  }

  /**
   * Reports a rank that refuses connections. Only its own host knows whether the process has exited:
   * from another host, a firewall looks the same.
   */
  #loseRefused(rank: number): void {
    const { member, peers } = this.#mesh;
    const [own, other] = [peers[member.rank], peers[rank]] as [PeerInfo, PeerInfo];
    if (this.#met.has(rank) || isSameHost(hostOf(own), hostOf(other))) this.#lose(rank);
    else this.#report(lossError(rank, refusalText(this.#mesh, rank, false)));
  }

  #lose(rank: number, why?: Error): void {
    const { member, peers } = this.#mesh;
    const [own, lost] = [member.rank, rank].map((one) => `rank ${one} on ${peers[one]?.hostName}`);
    const code = (why as NodeJS.ErrnoException | undefined)?.code;
    // A process that exits may reset its connections.
    if (code === undefined || code === 'ECONNRESET') this.#report(exitError(rank, peers[rank]?.hostName, why));
    else {
      const message = `${own} lost its connection with ${lost} before the group was open (${code}): check both hosts and the network`;
      this.#report(lossError(rank, message, why));
    }
  }

  #report(error: UnavailableError): void {
    const tell = this.#tell;
    this.stop();
    tell(error);
  }
}

/** The error that the other members get if the process of a member exits while the group opens. */
export function exitError(rank: number, hostName: string | undefined, cause?: Error): UnavailableError {
  return lossError(
    rank,
    `rank ${rank} on ${hostName} exited before the group was open: see the output of that process`,
    cause,
  );
}

function lossError(rank: number, message: string, cause?: Error): UnavailableError {
  const details = { rank, ranks: [rank], operation: 'open a group', cause };
  return new UnavailableError(
    'ERR_COLL_PEER_FAILED',
    `${message}; then open the group again with the next generation`,
    details,
  );
}
