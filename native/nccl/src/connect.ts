import { CollError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { joinGroup, type Store, subStore } from '@coll/rendezvous';
import { release } from '@coll/rendezvous/internal';
import { Clique } from './clique.js';
import { settled } from './failures.js';
import { gpuIndex } from './gpu-memory.js';
import { type HostProcess, thisProcess } from './host-process.js';
import { type Peer, PeerBoard } from './peer-board.js';
import { ncclVersion, probe, runtime } from './probe.js';

/** How a process joins a group: its place among the processes, its GPUs and the store. */
export interface JoinRequest {
  /** The store for the rendezvous. It must stay open as long as the group. */
  readonly store: Store;
  /** Index of this process, from 0; `size` is the number of processes. */
  readonly rank: number;
  readonly size: number;
  /**
   * The GPUs of this process, one rank per GPU in this order; ranks are numbered across processes
   * in process order. Default: `['gpu:0']`.
   */
  readonly devices?: readonly string[] | undefined;
  /** Name of the group; must differ between groups of the same processes. Default: `world`. */
  readonly group?: string | undefined;
  /**
   * Index of the attempt to open this group, from 0; increase it by one to open the group again
   * after a failure. Default: 0.
   */
  readonly generation?: number | undefined;
  /** Seconds to wait for the other processes. Default: 60. */
  readonly timeoutSeconds?: number | undefined;
  /** Aborts the wait for the other processes. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Seconds without a heartbeat after which a process that others wait for counts as lost. Each
   * process writes a heartbeat to the store every second, unless its JavaScript is busy. A process
   * of the same host that has exited is detected within a second. Default: 60.
   */
  readonly lostAfterSeconds?: number | undefined;
  /**
   * Whether to compare the requests of all processes before each call; if they differ, all
   * processes throw. This takes milliseconds, because it uses the store. Default: false.
   */
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

/** The data that a process publishes about itself when it joins a group. */
interface Card {
  readonly version: string;
  readonly devices: number;
  /** Identifies the process on its host; undefined if the system does not report it. */
  readonly process?: HostProcess | undefined;
  /** NCCL's unique id; only the first process publishes it. */
  readonly id?: string;
}

/** How to open a group. */
interface Opening {
  readonly timeoutMillis: number;
  readonly blocking?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Publishes the data that a process sends when it joins a group (its card), and returns the cards
 * of all processes, in process order.
 */
export type Exchange = (card: Uint8Array) => Promise<readonly Uint8Array[]>;

const secondsToMeet = 60;

/**
 * Opens a group of GPUs that all belong to this process.
 * @throws ValueError for a GPU that is listed twice; NCCL's errors
 */
export async function openLocal(devices: readonly string[], name: string, opening: Opening): Promise<Clique> {
  const indices = devices.map(gpuIndex);
  requireDistinct(devices, indices);
  const ranks = indices.map((_, rank) => rank);
  const { binding } = runtime();
  const id = await settled(binding.uniqueId(), { operation: 'connect' });
  return Clique.open(id, { size: ranks.length, ranks, devices: indices, name, ...opening });
}

/**
 * Joins a group of processes.
 * @throws DeadlineExceededError that names the processes that did not arrive; CollError
 * (ERR_COLL_STORE) if their releases of this package differ; UnavailableError that names a process that
 * was lost while this process waited; NCCL's errors
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
  const waiting = { timeoutSeconds, signal, settings: { release } };
  const exchange: Exchange = (card) => joinGroup(subStore(store, prefix), { rank, size, generation, card, ...waiting });
  const agreed = await agree(exchange, rank, indices.length);
  const board = new PeerBoard(store, `${prefix}/${generation}/of/${size}`, rank, agreed.peers);
  const name = `${group}/${generation}`;
  const { lostAfterSeconds, checkCalls } = request;
  const { ranks } = agreed.peers[rank] as Peer;
  const members = { size: agreed.total, ranks, devices: indices, name, board, lostAfterSeconds, checkCalls };
  return Clique.open(agreed.id, { ...members, blocking, timeoutMillis: timeoutSeconds * 1000, signal });
}

/**
 * Joins a group of processes. Each process publishes data about itself by `exchange`; `rank` is the
 * index of this process.
 */
export async function joinBy(exchange: Exchange, rank: number, devices: readonly string[], opening: Opening) {
  const indices = devices.map(gpuIndex);
  requireDistinct(devices, indices);
  const { id, peers, total } = await agree(exchange, rank, indices.length);
  const { ranks } = peers[rank] as Peer;
  return Clique.open(id, { size: total, ranks, devices: indices, name: 'processes', ...opening });
}

/**
 * Publishes data about this process, and reads that of the other processes. Returns NCCL's unique
 * id, and the ranks of each process.
 * @throws CollError if processes use different releases of NCCL
 */
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
    const message = `process 0 has NCCL ${cards[0]?.version}, process ${odd} has ${cards[odd]?.version}`;
    throw new CollError('ERR_COLL_NCCL', `connect: ${message}; all processes must use the same release`, {
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
  if (devices.length === 0)
    throw new ValueError(
      'ERR_COLL_DEVICE',
      'nccl: the list of devices must not be empty: a group needs at least one GPU of this process',
    );
  const twice = indices.findIndex((index, place) => indices.indexOf(index) !== place);
  if (twice < 0) return;
  const message = `devices contains gpu:${indices[twice]} twice: ${quote(devices)}`;
  throw new ValueError('ERR_COLL_DEVICE', `nccl: ${message}; each rank needs a GPU of its own`);
}
