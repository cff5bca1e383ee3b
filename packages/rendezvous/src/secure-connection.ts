import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { CollError } from '@coll/core';
import { preSharedKeys } from './pre-shared-keys.js';

/*
 * A connection begins with a preamble and continues with TLS under a key derived from the job key.
 * TLS authenticates both sides. The preamble only spares the server's event loop TLS handshakes
 * with clients that lack the job key, such as port scanners: refusing one takes a fraction of the
 * time. An eavesdropper who replays a preamble gets as far as TLS.
 */

const magic = Buffer.from('coll');
// Bytes of the MAC that follows the magic and the random bytes.
const macLength = 16;
const preambleLength = 2 * macLength;

// TLS's fatal alert `decrypt_error`, which clients report as a different key.
const refusal = Uint8Array.of(0x15, 3, 3, 0, 2, 2, 51);

const pskIdentity = 'coll';

/**
 * Refuses a runtime whose TLS has no pre-shared keys, before any connection opens. Such runtimes
 * offer the functions, but ignore the key, and every handshake fails.
 * @throws CollError (ERR_COLL_STORE) in Bun and Deno
 */
export function requirePreSharedKeys(operation: string): void {
  const { bun, deno } = process.versions as { readonly bun?: string; readonly deno?: string };
  const runtime = bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`;
  if (!runtime) return;
  const message = `${runtime} has no TLS with a pre-shared key, through which the TCP store authenticates members`;
  const advice = 'run this program in Node, or use a FileStore, which needs a folder that all members share';
  throw new CollError('ERR_COLL_STORE', `${message}: ${advice}`, { operation });
}

/**
 * Connects to a server of the same job. The socket emits `secureConnect` once both sides have
 * proven that they have the job key.
 */
export function connectSecurely(target: { readonly host: string; readonly port: number }, jobKey: string): TLSSocket {
  const psk = keyOf(jobKey, 'store');
  const socket = connect(target);
  socket.write(preambleOf(keyOf(jobKey, 'preamble')));
  const secured = connectTls({
    ...preSharedKeys,
    socket,
    pskCallback: () => ({ psk, identity: pskIdentity }),
    // There are no certificates: the key authenticates the server.
    checkServerIdentity: () => undefined,
  });
  socket.once('error', (error) => secured.destroy(error));
  // Node.js may emit an error again when callers no longer listen, which would end the process.
  secured.on('error', () => {});
  return secured;
}

/**
 * Creates a server that passes authenticated connections to `accept`. The server does not listen
 * yet.
 * @param seconds time limit for the preamble of a new connection, and again for its TLS handshake
 * @param refuse called with a connection of a member that has another job key
 */
export function createSecureServer(
  jobKey: string,
  seconds: number,
  accept: (socket: TLSSocket) => void,
  refuse: (socket: Socket) => void = () => {},
): Server {
  const psk = keyOf(jobKey, 'store');
  const preambleKey = keyOf(jobKey, 'preamble');
  const pskCallback = (_: unknown, identity: string) => (identity === pskIdentity ? psk : null);
  const secure = createTlsServer({ ...preSharedKeys, handshakeTimeout: seconds * 1000, pskCallback }, accept);
  // Connections of other programs fail the handshake and are closed. Members notice a failed
  // handshake on their own side.
  secure.on('tlsClientError', (_, socket) => socket.destroy());
  return createServer((socket) =>
    expectPreamble(socket, preambleKey, seconds, () => secure.emit('connection', socket), refuse),
  );
}

function expectPreamble(
  socket: Socket,
  key: Buffer,
  seconds: number,
  accept: () => void,
  refuse: (socket: Socket) => void,
): void {
  const tooLate = setTimeout(() => socket.destroy(), seconds * 1000).unref();
  socket.on('error', () => socket.destroy());
  socket.once('close', () => clearTimeout(tooLate));
  socket.on('readable', read);
  function read() {
    const bytes: Buffer | null = socket.read(preambleLength);
    if (bytes === null) return;
    socket.removeListener('readable', read);
    if (bytes.indexOf(magic) !== 0) {
      socket.destroy();
    } else if (isPreamble(key, bytes)) {
      clearTimeout(tooLate);
      accept();
    } else {
      refuse(socket);
      socket.end(refusal);
      // Closing a connection with unread bytes resets it, and the refusal is lost.
      socket.resume();
    }
  }
}

function preambleOf(key: Buffer): Buffer {
  const head = Buffer.concat([magic, randomBytes(preambleLength - macLength - magic.length)]);
  return Buffer.concat([head, macOf(key, head)]);
}

function isPreamble(key: Buffer, bytes: Buffer): boolean {
  if (bytes.length !== preambleLength) return false;
  return timingSafeEqual(bytes.subarray(-macLength), macOf(key, bytes.subarray(0, -macLength)));
}

function macOf(key: Buffer, head: Buffer): Buffer {
  return createHmac('sha256', key).update(head).digest().subarray(0, macLength);
}

function keyOf(jobKey: string, purpose: 'store' | 'preamble'): Buffer {
  return Buffer.from(hkdfSync('sha256', jobKey, 'coll', purpose, 32));
}
