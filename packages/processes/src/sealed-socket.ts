import type { Socket } from 'node:net';
import { connect as connectTls, TLSSocket, type TLSSocketOptions } from 'node:tls';
import { preSharedKeys } from '@coll/rendezvous/internal';

/** What both ends of one connection know. */
export interface SocketSeal {
  /** Names the key, in clear. */
  readonly identity: Buffer;
  /** 32 secret bytes, for this connection only. */
  readonly key: Buffer;
}

/** How an end seals a connection. */
export interface SealSocketOptions {
  /** Whether this end waits for the other one's first message. */
  readonly isServer: boolean;
  /** The TLS suite to use, by `cipherBetween`. */
  readonly cipher: string;
}

/**
 * Seals a connection of which both ends have derived the same key: with TLS 1.3 and an ephemeral
 * Diffie-Hellman exchange, authenticated by the key alone. Both ends may write at once. If the other
 * end lacks the key, or somebody changes a byte, the returned socket emits `error` and `close`, and
 * delivers nothing from there on.
 * The same happens if the two have not agreed within ten seconds.
 */
export function sealSocket(
  socket: Socket,
  { identity, key }: SocketSeal,
  { isServer, cipher }: SealSocketOptions,
): TLSSocket {
  const name = identity.toString('hex');
  const ciphers = [...suites.filter((suite) => suite === cipher), ...suites, suiteOfOldVersions].join(':');
  const common = { ...preSharedKeys, ciphers, ecdhCurve: 'X25519:P-256', honorCipherOrder: true };
  const sealed = isServer
    ? new TLSSocket(socket, {
        ...common,
        isServer,
        pskCallback: (_: unknown, asked: string) => (asked === name ? key : null),
      } as TLSSocketOptions)
    : connectTls({
        ...common,
        socket,
        pskCallback: () => ({ psk: key, identity: name }),
        // There are no certificates: the key authenticates the other end.
        checkServerIdentity: () => undefined,
      });
  // If somebody changes the length of a message, both ends wait for the rest.
  const lateError = () => Object.assign(new Error('TLS was not agreed upon in time'), { code: sealingFailed });
  const late = setTimeout(() => sealed.destroy(lateError()), longestMillis).unref();
  sealed.once('secure', () => clearTimeout(late));
  // After the handshake, Node.js leaves a connection open whose bytes were changed, and an accepting
  // end does not even emit `error`. Closed later, so that the other end gets the alert.
  sealed.once('_tlsError', (error: Error) => setImmediate(() => sealed.destroy(isServer ? error : undefined)));
  sealed.once('close', () => clearTimeout(late));
  return sealed;
}

/** The code of the error if the two ends have not agreed in time. */
export const sealingFailed = 'SEALING_FAILED';

const longestMillis = 10_000;
const suites = ['TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'];
// Only because Node.js demands a suite of older versions of TLS, which are refused.
const suiteOfOldVersions = 'ECDHE-PSK-CHACHA20-POLY1305';
