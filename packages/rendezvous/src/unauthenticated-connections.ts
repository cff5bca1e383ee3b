import type { Socket } from 'node:net';

/**
 * Maximum number of unauthenticated connections. So many members rarely connect at once, so the
 * connections of members are rarely dropped.
 */
export const mostUnauthenticated = 256;

/**
 * Connections that have not authenticated yet. Members authenticate quickly, so new connections
 * replace the oldest.
 */
export class UnauthenticatedConnections {
  readonly #sockets = new Map<string, Socket>();

  /** Adds a connection; it is removed when it closes or has authenticated. */
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

  /**
   * Removes a connection that has authenticated. `socket` is the connection's socket, or the TLS
   * socket that wraps it.
   */
  know(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
    socket.ref();
  }

  /** Closes all unauthenticated connections. */
  close(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#sockets.clear();
  }
}

/** Identifies a connection by its remote address, which its TLS socket shares. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
