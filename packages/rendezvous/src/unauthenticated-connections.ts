import type { Socket } from 'node:net';

/** Connections that may be unproven at the same time: more than members that come together, so that one is seldom taken for a stranger. */
export const mostUnauthenticated = 256;

/** Those who have connected, and have not proven yet that they are members. Members need a moment only, so that the oldest make room for new ones. */
export class UnauthenticatedConnections {
  readonly #sockets = new Map<string, Socket>();

  /** Until it has ended, or is known. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    const [oldest] = this.#sockets;
    if (oldest && this.#sockets.size >= mostUnauthenticated) {
      this.#sockets.delete(oldest[0]);
      oldest[1].destroy();
    }
    this.#sockets.set(key, socket);
    // No process goes on for their sake.
    socket.unref();
    socket.once('close', () => {
      // The system may have given the address away again.
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  }

  /** The connection, or what was made of it, is a member's. */
  know(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
    socket.ref();
  }

  /** Ends their connections. */
  close(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#sockets.clear();
  }
}

/** TLS makes another socket of a connection, with the same other end. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
