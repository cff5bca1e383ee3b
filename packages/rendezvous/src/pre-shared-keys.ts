import { constants } from 'node:crypto';

/** What all connections of `node:tls` with a pre-shared key have in common. */
export const preSharedKeys = {
  // No certificates are checked. By default, Node.js parses more than a hundred root certificates in
  // every process that uses TLS, which takes longer than the rest of the handshake.
  ca: [] as string[],
  ciphers: 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384:ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.3' as const,
  maxVersion: 'TLSv1.3' as const,
  // No connection resumes another one: each proves the key again. A server still sends a ticket, because
  // Node.js cannot turn that off, but the ticket only names a session, which no server keeps.
  secureOptions: constants.SSL_OP_NO_TICKET,
};
