import { CollError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { joinGroup, type Store, subStore } from '@coll/rendezvous';
import { Clique } from './clique.js';
import { settled } from './failures.js';
import { gpuIndex } from './gpu-memory.js';
import { type HostProcess, thisProcess } from './host-process.js';
import { type Peer, PeerBoard } from './peer-board.js';
import { ncclVersion, probe, runtime } from './probe.js';

/** A process that joins a group, and the GPUs that it brings. */
export interface JoinRequest {
  /** Where the processes meet. It has to stay open as long as the group. */
  readonly store: Store;
  /** The number of this process, and how many there are. */
  readonly rank: number;
  readonly size: number;
  /** The GPUs of this process: a rank each, in this order, after those of the processes before it. Default: `['gpu:0']`. */
  readonly devices?: readonly string[] | undefined;
  /** Several groups of the same processes need a name each. Default: `world`. */
  readonly group?: string | undefined;
  /** A group that is opened again after a failure is the next generation. Default: 0. */
  readonly generation?: number | undefined;
  /** Longest time to wait for the others. Default: 60. */
  readonly timeoutSeconds?: number | undefined;
  /** Ends the waiting for them. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long a process may show no sign of life while others wait for it. It writes one a second into the store, but for when its JavaScript is
   * busy. Processes of one host know within a second that one has ended. Default: 60.
   */
  readonly lostAfterSeconds?: number | undefined;
  /** Compare what all processes ask for before each call, in the store, which takes milliseconds. For finding mistakes. Default: no. */
  readonly checkCalls?: boolean | undefined;
}

const joinRequest = knownOptions<JoinRequest>('NcclCommunicator.connect', {
  store: true,
  rank: true,
  size: true,
  devices: true,
  group: true,
  generation: true,
  timeoutSeconds: true,
  signal: true,
  lostAfterSeconds: true,
  checkCalls: true,
});

/** What a process tells of itself. */
interface Card {
  readonly version: string;
  readonly devices: number;
  /** Absent where its system does not tell. */
  readonly process?: HostProcess | undefined;
  /** NCCL's unique id, of the first process. */
  readonly id?: string;
}

/** How a group is opened. */
interface Opening {
  readonly timeoutMillis: number;
  readonly blocking?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Gathers what every process tells, in order. */
export type Exchange = (card: Uint8Array) => Promise<readonly Uint8Array[]>;

const secondsToMeet = 60;

/** The clique of these GPUs, all of this process. @throws ValueError for a GPU that is listed twice; what NCCL says */
export async function openLocal(devices: readonly string[], name: string, opening: Opening): Promise<Clique> {
  const indices = devices.map(gpuIndex);
  requireDistinct(devices, indices);
  const ranks = indices.map((_, rank) => rank);
  const { binding } = runtime();
  const id = await settled(binding.uniqueId(), { operation: 'connect' });
  return Clique.open(id, { size: ranks.length, ranks, devices: indices, name, ...opening });
}

/**
 * Joins a group of processes. @throws DeadlineExceededError that names the processes that did not arrive; UnavailableError that names one that was lost
 * meanwhile; what NCCL says
 */
export async function join(request: JoinRequest, blocking: boolean | undefined): Promise<Clique> {
  const example = 'NcclCommunicator.connect({ store, rank, size })';
  if (!optionsOf(request, example, joinRequest).store)
    throw new ValueError(
      'ERR_COLL_VALUE',
      `connect: pass the store through which the processes find each other: ${example}`,
    );
  const {
    store,
    rank,
    size,
    devices = ['gpu:0'],
    group = 'world',
    generation = 0,
    timeoutSeconds = secondsToMeet,
    signal,
  } = request;
  const indices = devices.map(gpuIndex);
  requireDistinct(devices, indices);
  const prefix = `nccl/${group}`;
  const waiting = { timeoutSeconds, signal };
  const exchange: Exchange = (card) => joinGroup(subStore(store, prefix), { rank, size, generation, card, ...waiting });
  const agreed = await agree(exchange, rank, indices.length);
  const board = new PeerBoard(store, `${prefix}/${generation}/of/${size}`, rank, agreed.peers);
  const name = `${group}/${generation}`;
  const { lostAfterSeconds, checkCalls } = request;
  const { ranks } = agreed.peers[rank] as Peer;
  const members = { size: agreed.total, ranks, devices: indices, name, board, lostAfterSeconds, checkCalls };
  return Clique.open(agreed.id, { ...members, blocking, timeoutMillis: timeoutSeconds * 1000, signal });
}

/** Joins a group of processes that have a way of their own to show each other their cards; `rank` is the number of this one. */
export async function joinBy(exchange: Exchange, rank: number, devices: readonly string[], opening: Opening) {
  const indices = devices.map(gpuIndex);
  requireDistinct(devices, indices);
  const { id, peers, total } = await agree(exchange, rank, indices.length);
  const { ranks } = peers[rank] as Peer;
  return Clique.open(id, { size: total, ranks, devices: indices, name: 'processes', ...opening });
}

/** NCCL's id of the group, and who has which ranks. */
async function agree(exchange: Exchange, member: number, devices: number) {
  const { binding } = runtime();
  const version = probe().nccl?.version ?? ncclVersion(0);
  const own = member === 0 ? await settled(binding.uniqueId(), { operation: 'connect' }) : undefined;
  const card: Card = {
    version,
    devices,
    process: thisProcess(),
    ...(own ? { id: Buffer.from(own).toString('base64') } : {}),
  };
  const shown = await exchange(Buffer.from(JSON.stringify(card)));
  const cards = shown.map((bytes) => JSON.parse(Buffer.from(bytes).toString()) as Card);
  const odd = cards.findIndex((other) => other.version !== cards[0]?.version);
  if (odd >= 0) {
    const told = `process 0 has NCCL ${cards[0]?.version}, process ${odd} has ${cards[odd]?.version}`;
    throw new CollError('ERR_COLL_NCCL', `connect: ${told}; all processes must use the same release`, {
      operation: 'connect',
      rank: odd,
    });
  }
  let total = 0;
  const peers: readonly Peer[] = cards.map((other) => {
    return { ranks: Array.from({ length: other.devices }, () => total++), process: other.process };
  });
  return { id: Buffer.from(cards[0]?.id as string, 'base64'), peers, total };
}

function requireDistinct(devices: readonly string[], indices: readonly number[]): void {
  if (devices.length === 0) throw new ValueError('ERR_COLL_DEVICE', 'nccl: a group needs a GPU for each rank');
  const twice = indices.findIndex((index, place) => indices.indexOf(index) !== place);
  if (twice < 0) return;
  const told = `${quote(devices)} contain gpu:${indices[twice]} twice`;
  throw new ValueError('ERR_COLL_DEVICE', `nccl: ${told}: a group needs a GPU of this process for each rank`);
}
