import { connect as dial } from 'node:net';
import { CollError } from '@coll/core';
import { HandshakeStream } from './handshake-stream.js';
import { decodeRefusal, encodeHello, encodeProof, lengths, type Refusal, secretOfWelcome } from './hello.js';
import type { Connection, ListenerOptions } from './listener.js';
import type { MemberConfig } from './member-config.js';
import type { Address } from './peer-info.js';
import { sealOf } from './sealing.js';

/** The member to connect to, and the channel. */
export interface ConnectOptions extends Pick<ListenerOptions, 'member' | 'secret' | 'sockets'> {
  readonly rank: number;
  readonly addresses: readonly Address[];
  readonly channel: number;
  readonly signal: AbortSignal;
  /** Called after each attempt to connect that gets no answer, with the reason. */
  readonly onMissed?: (why: unknown) => void;
}

const retryMillis = 50;
const answerMillis = 10_000;

/**
 * Connects to a member of lower rank, retrying until it answers.
 * @throws CollError (ERR_COLL_STORE) if the member refuses with a reason, or does not prove that it
 * has the job key; the signal's reason if the signal aborts
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { addresses, signal } = options;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await attend(options, addresses[attempt % addresses.length] as Address);
    } catch (error) {
      if (error instanceof CollError && error.code === 'ERR_COLL_STORE') throw error;
      if (!signal.aborted) options.onMissed?.(error);
    }
    await pause(signal);
  }
}

async function attend({ member, secret, sockets, rank, channel, signal }: ConnectOptions, address: Address) {
  const socket = dial(address);
  const end = () => socket.destroy();
  signal.addEventListener('abort', end);
  const stream = new HandshakeStream(socket, [lengths.challenge, lengths.welcome], answerMillis);
  try {
    const { key } = member;
    const hello = encodeHello(member, rank, channel);
    await stream.send(hello);
    const challenge = await stream.next();
    requireNone(decodeRefusal(challenge), member, rank, address);
    const proof = encodeProof(key, [hello, challenge], secret);
    await stream.send(proof);
    const welcome = await stream.next();
    requireNone(decodeRefusal(welcome), member, rank, address);
    const shared = secretOfWelcome(key, [hello, challenge, proof], welcome);
    if (!shared) throw unproven(member, rank, address);
    const seal = sealOf(key, [hello, challenge, proof, welcome]);
    return { rank, channel, socket: stream.handOver((descriptor) => sockets.take(descriptor)), secret: shared, seal };
  } finally {
    signal.removeEventListener('abort', end);
    stream.drop();
  }
}

function requireNone(refused: Refusal | undefined, member: MemberConfig, rank: number, address: Address): void {
  if (refused) throw refusal(refused, member, rank, address);
}

/** Makes the error for a connection that the process at a member's address has refused. */
function refusal({ why, detail }: Refusal, member: MemberConfig, rank: number, { host, port }: Address): CollError {
  if (why === 'key') {
    const message = `rank ${rank} at ${host}:${port} has a different job key, or another process answers at this address`;
    return distrust(`${message}: set the same COLL_JOB_KEY or jobKey on all members`, member);
  }
  const identities = {
    no: 'it gave no reason',
    version: `it uses version ${detail} of the process group protocol`,
    job: `it belongs to another job than "${member.job}"`,
    generation: `its group has generation ${detail}, this group has ${member.generation}`,
    size: `its group has size ${detail}, this group has ${member.size}`,
    rank: `it is rank ${detail}${detail === member.rank ? ', this member itself' : ''}`,
  };
  return stranger(rank, { host, port }, member, `it refused rank ${member.rank}: ${identities[why]}`);
}

/** Makes the error for a process that is not the member that registered this address. */
function stranger(rank: number, { host, port }: Address, member: MemberConfig, problem: string): CollError {
  const message = `another process answers at ${host}:${port}, the address of rank ${rank}: ${problem}`;
  const advice = `set COLL_HOST or host of rank ${rank} to an address that only its host has`;
  return distrust(`${message}; ${advice}, and look for port forwarding`, member);
}

function unproven(member: MemberConfig, rank: number, address: Address): CollError {
  return stranger(rank, address, member, `it failed to prove to rank ${member.rank} that it has the job key`);
}

function distrust(message: string, { rank }: MemberConfig): CollError {
  return new CollError('ERR_COLL_STORE', message, { operation: 'open a group', rank });
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, retryMillis);
    signal.addEventListener('abort', done);
  });
}
