import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A double of the network between the ranks of one group: what it carries, it can cut. */
export class NetworkDouble {
  readonly #routes: { readonly ranks: readonly number[]; readonly server: Server; readonly sockets: Set<Socket> }[] =
    [];

  /** Opens a way from one rank to a port of another: the port to connect to. */
  async route(from: number, to: number, port: number): Promise<number> {
    const sockets = new Set<Socket>();
    // A rank that has ended its side still gets what the other one sends, as over a wire.
    const options = { noDelay: true, allowHalfOpen: true };
    const server = createServer(options, (near) => {
      const far = connect({ host: '127.0.0.1', port, ...options });
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket);
        socket.pipe(other);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          sockets.delete(socket);
          if (!socket.readableEnded) other.destroy();
        });
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#routes.push({ ranks: [from, to], server, sockets });
    return (server.address() as AddressInfo).port;
  }

  /** Ends all connections of a rank, or those between two. */
  cut(rank: number, other?: number): void {
    for (const socket of this.#between(rank, other)) socket.destroy();
  }

  /** Keeps what a rank sends and is sent, without a word. */
  silence(rank: number): void {
    for (const socket of this.#between(rank)) {
      socket.unpipe();
      socket.pause();
    }
  }

  close(): void {
    for (const { server, sockets } of this.#routes) {
      server.close();
      for (const socket of sockets) socket.destroy();
    }
  }

  #between(rank: number, other?: number): Socket[] {
    const isMeant = (ranks: readonly number[]) =>
      ranks.includes(rank) && (other === undefined || ranks.includes(other));
    return this.#routes.filter(({ ranks }) => isMeant(ranks)).flatMap(({ sockets }) => [...sockets]);
  }
}
