import { CollError } from '@coll/core';
import { TcpStoreServer, type TcpStoreServerOptions } from './tcp-store-server.js';

const hosted = new Map<string, TcpStoreServer>();

/** The store that `hostStore` has started at an address in this process. */
export function hostedStore(address: string): TcpStoreServer | undefined {
  return hosted.get(address);
}

/**
 * Starts a store for the group of this process. It runs until the process exits, and lets it exit.
 * @throws the errors of `listenForGroup`
 */
export async function hostStore(options: TcpStoreServerOptions): Promise<TcpStoreServer> {
  const server = await listenForGroup(options);
  hosted.set(server.address, server);
  return server;
}

/**
 * Starts a store for the group of this process, and lets the process exit.
 * @throws CollError (ERR_COLL_STORE) if this host does not have the address, or its port is in use
 */
export async function listenForGroup(options: TcpStoreServerOptions): Promise<TcpStoreServer> {
  try {
    const server = await TcpStoreServer.listen(options);
    server.unref();
    return server;
  } catch (cause) {
    if (!(cause instanceof CollError) || cause.code !== 'ERR_COLL_STORE') throw cause;
    const message = `rank 0 must host the store of its group, but ${cause.message}`;
    const advice = `${adviceFor((cause.cause as NodeJS.ErrnoException).code)}, or run \`coll store\` and set the variables that its --print-env prints on all members`;
    throw new CollError(cause.code, `${message}: ${advice}`, { rank: 0, operation: cause.operation, cause });
  }
}

/** What to do if this process cannot listen at the address of rank 0. */
function adviceFor(code: string | undefined): string {
  if (code === 'EADDRINUSE') return 'free the port';
  if (code === 'EACCES') return 'choose a port above 1023';
  if (code === 'EADDRNOTAVAIL')
    return 'give rank 0 an address of this host, or start rank 0 on the host with this address';
  return 'correct the name of the host, or use its IP address';
}
