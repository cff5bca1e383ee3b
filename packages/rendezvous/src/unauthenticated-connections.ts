import type { Socket } from 'node:net';

/**
 * Maximum number of unauthenticated connections: more than the members that connect at once, so
 * that a member is rarely taken for a stranger.
 */
export const mostUnauthenticated = 256;

/**
 * Connections that have not authenticated yet. Members authenticate quickly, so new connections
 * replace the oldest.
 */
export class UnauthenticatedConnections {
  readonly #sockets = new Map<string, Socket>();

  /** Adds a connection until it has ended or is authenticated. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    const [oldest] = this.#sockets;
    if (oldest && this.#sockets.size >= mostUnauthenticated) {
      this.#sockets.delete(oldest[0]);
      oldest[1].destroy();
    }
    this.#sockets.set(key, socket);
    // They do not keep the process alive.
    socket.unref();
    socket.once('close', () => {
      // The system may have reused the address already.
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  }

  /** Removes a connection, or the socket made of it, that has authenticated. */
  know(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
    socket.ref();
  }

  /** Closes all of them. */
  close(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#sockets.clear();
  }
}

/** TLS wraps a connection in another socket with the same remote address. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
