import { CollError } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
import type { Check, Line } from './line.js';

/** The TLS of this runtime. */
export interface TlsFacts {
  /** The version of OpenSSL; undefined if the runtime does not report one. */
  readonly openssl: string | undefined;
  /** Why two members cannot connect to each other; undefined if they can. */
  readonly refused: string | undefined;
}

/** Whether members can authenticate each other: a store on loopback, and a member that connects to it. */
export const tlsCheck: Check = {
  name: 'TLS',
  examine: async () => [tlsLine({ openssl: process.versions['openssl'], refused: await refusal() })],
};

const mostSeconds = 10;

async function refusal(): Promise<string | undefined> {
  const job = { job: 'coll doctor', jobKey: TcpStoreServer.newKey() };
  try {
    await using server = await TcpStoreServer.listen(job);
    await using store = await TcpStore.connect({ ...job, address: server.address, timeoutSeconds: mostSeconds });
    await store.add('arrived', 1);
    return undefined;
  } catch (error) {
    if (error instanceof CollError) return messageOf(error);
    throw error;
  }
}

export function tlsLine({ openssl, refused }: TlsFacts): Line {
  const line = { name: 'TLS', data: { openssl, refused } };
  if (refused === undefined) {
    const version = openssl === undefined ? '' : ` (OpenSSL ${openssl})`;
    return { ...line, verdict: 'ok', text: `TLS 1.3 with a pre-shared key works${version}` };
  }
  const isUnreachable = /\b(ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM)\b/.test(refused);
  const cure = isUnreachable
    ? 'let programs connect to 127.0.0.1: ip link set lo up, or the policy of the sandbox'
    : 'run programs in Node from https://nodejs.org, whose OpenSSL has TLS 1.3 with pre-shared keys';
  return { ...line, verdict: 'broken', text: `members cannot authenticate each other: ${refused}`, cure };
}
