import { CollError, RuntimeError } from '@coll/core';
import { isLoopback } from '@coll/rendezvous/internal';
import { areCores, type Cores, ownCores } from './cores.js';
import { type Host, isSameHost, ownRuntime } from './host.js';
import { type Encrypt, encryptions, type MemberConfig, type Transport, transports } from './member-config.js';

/**
 * Protocol version; members compare it before all other settings. Increase it whenever any message
 * between members changes.
 */
export const groupVersion = 16;

/** Length in bytes of the nonce that each member publishes. */
export const nonceBytes = 32;

/** The address where a member listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a member publishes to the other members before they connect. Contains no secret in plain. */
export interface PeerInfo
  extends Cores,
    Pick<MemberConfig, 'encrypt' | 'insecure' | 'insecureBy' | 'transport' | 'streams' | 'heartbeatSeconds'> {
  readonly addresses: readonly Address[];
  /** The port, at the first address, where the member accepts data connections; 0 if it never uses TCP. */
  readonly dataPort: number;
  /** Random bytes of this member for the tickets of its data connections, as base64. */
  readonly nonce: string;
  readonly hostName: string;
  readonly bootId: string;
  /** Name and version of the member's runtime. */
  readonly runtime: string;
  /** The TLS suite that the member prefers; empty if its runtime cannot seal connections. */
  readonly cipher: string;
  /** The sealed secret of the member's memory. */
  readonly memory: string;
}

/** Encodes the info of a member that listens at these addresses. `memory`: its sealed secret. */
export function peerInfoOf(
  member: MemberConfig,
  host: Host,
  addresses: readonly Address[],
  memory: string,
  { port, nonce, cipher }: { readonly port: number; readonly nonce: Buffer; readonly cipher: string },
): Uint8Array {
  const { encrypt, insecure, insecureBy, transport, streams, heartbeatSeconds } = member;
  const settings = { encrypt, insecure, insecureBy, transport, streams, heartbeatSeconds };
  const place = { addresses, hostName: host.name, bootId: host.bootId, memory, ...ownCores() };
  const runtime = ownRuntime();
  const info: PeerInfo = { ...place, dataPort: port, nonce: nonce.toString('base64'), runtime, cipher, ...settings };
  return Buffer.from(JSON.stringify(info));
}

/**
 * Decodes a member's info.
 * @throws CollError (ERR_COLL_STORE) if the record of `rank` is not a valid info
 */
export function readPeerInfo(bytes: Uint8Array, rank: number): PeerInfo {
  const info = parse(bytes);
  if (info && isPeerInfo(info)) return info;
  throw new CollError(
    'ERR_COLL_STORE',
    `cannot parse the peer info of rank ${rank}: does another program use the store?`,
    { rank, operation },
  );
}

/**
 * Checks all members' infos.
 * @throws RuntimeError (ERR_COLL_CLUSTER) if settings differ, or if members are on different hosts
 * and one listens only on a loopback address, or cannot seal connections; CollError
 * (ERR_COLL_REFUSED) if members cannot share memory. All members throw the same error.
 */
export function requireCompatible(peers: readonly PeerInfo[]): void {
  for (const setting of ['transport', 'streams', 'heartbeatSeconds', 'encrypt', 'insecure'] as const) {
    const [first] = peers as readonly [PeerInfo, ...PeerInfo[]];
    const odd = peers.findIndex((info) => info[setting] !== first[setting]);
    if (odd < 0) continue;
    const valueIn = (info: PeerInfo) =>
      setting === 'insecure' ? `${info.insecure} (by ${info.insecureBy})` : info[setting];
    const message = `${setting} is ${valueIn(first)} on rank 0, but ${valueIn(peers[odd] as PeerInfo)} on rank ${odd}`;
    throw new RuntimeError('ERR_COLL_CLUSTER', `${message}: all members must use the same value`, {
      rank: odd,
      operation,
    });
  }
  const [one] = peers as readonly [PeerInfo, ...PeerInfo[]];
  const other = peers.findIndex((info) => !isSameHost(hostOf(one), hostOf(info)));
  const isSealed = !one.insecure && (other >= 0 || (one.encrypt === 'always' && peers.length > 1));
  if (isSealed) requireSealing(peers);
  if (other < 0) return;
  const hosts = `rank 0 is on ${one.hostName}, rank ${other} on ${peers[other]?.hostName}`;
  if (one.transport === 'shared-memory') {
    const message = `shared memory was requested, but ${hosts}; transport: 'auto' uses TCP between hosts`;
    throw new CollError('ERR_COLL_REFUSED', message, { rank: other, operation });
  }
  const local = peers.findIndex(({ addresses }) => addresses.every(({ host }) => isLoopback(host)));
  if (local >= 0) {
    const message = `rank ${local} listens only at ${peers[local]?.addresses[0]?.host}, which other hosts cannot reach`;
    const advice =
      'on each member set host to the address or the network interface at which the other members reach it';
    throw new RuntimeError('ERR_COLL_CLUSTER', `${hosts}, but ${message}; ${advice}`, { rank: local, operation });
  }
}

function requireSealing(peers: readonly PeerInfo[]): void {
  const rank = peers.findIndex(({ cipher }) => cipher === '');
  if (rank < 0) return;
  const problem = `rank ${rank} runs ${peers[rank]?.runtime}, which has no TLS with pre-shared keys for connections between hosts`;
  const advice =
    'run all members in Node.js 20 or newer, or send everything unencrypted: open the group with insecure: true on all members, or set COLL_INSECURE=1 and pass no option insecure';
  throw new RuntimeError('ERR_COLL_CLUSTER', `${problem}: ${advice}`, { rank, operation });
}

/** The host of the member that has published this info. */
export function hostOf({ hostName, bootId }: PeerInfo): Host {
  return { name: hostName, bootId };
}

const operation = 'open a group';
const mostAddresses = 16;
// The longest host name.
const mostCharacters = 255;

function parse(bytes: Uint8Array): Partial<PeerInfo> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isPeerInfo(info: Partial<PeerInfo>): info is PeerInfo {
  const { addresses, dataPort, nonce, hostName, bootId, memory, cipher, encrypt, insecure, insecureBy } = info;
  const { transport, streams, heartbeatSeconds, runtime } = info;
  const areSome = Array.isArray(addresses) && addresses.length > 0 && addresses.length <= mostAddresses;
  const areAddresses = areSome && addresses.every(isAddress);
  const areTexts = isName(hostName) && isName(bootId) && isName(memory) && isName(runtime) && isName(cipher);
  const isReachable = dataPort === 0 || isPort(dataPort);
  const hasNonce = isName(nonce) && Buffer.from(nonce, 'base64').length === nonceBytes;
  const areSettings =
    typeof insecure === 'boolean' && isName(insecureBy) && transports.includes(transport as Transport);
  const isEncrypt = encryptions.includes(encrypt as Encrypt);
  const areNumbers = (streams === 'auto' || Number.isInteger(streams)) && typeof heartbeatSeconds === 'number';
  return (
    areAddresses && isReachable && hasNonce && areTexts && areCores(info) && areSettings && isEncrypt && areNumbers
  );
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= mostCharacters;
}

function isAddress(value: unknown): value is Address {
  const { host, port } = Object(value) as Partial<Address>;
  return isName(host) && isPort(port);
}

function isPort(port: unknown): boolean {
  return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;
}
