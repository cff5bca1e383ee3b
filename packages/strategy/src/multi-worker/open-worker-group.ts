import { DeadlineExceededError, type ProcessGroup, RuntimeError, UnavailableError } from '@coll/core';
import { type OpenProcessGroupOptions, openProcessGroup } from '@coll/processes';
import { subStore, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import type { MeetingPlace } from './meeting-place.js';

/** How workers exchange data, as `openProcessGroup` takes it. */
export type TransportOptions = Pick<
  OpenProcessGroupOptions,
  'host' | 'insecure' | 'transport' | 'streams' | 'heartbeatSeconds'
>;

/** Which group of workers is opened by whom. Plain data, which can be posted to a thread. */
export interface WorkerSeat {
  readonly meeting: MeetingPlace;
  readonly rank: number;
  readonly size: number;
  readonly transport: TransportOptions;
  /** Longest time until all workers are there; null: for ever. */
  readonly startupTimeoutSeconds: number | null;
  /** The name of this group among those of the same workers. */
  readonly scope: string;
}

/** Keeps the store in which workers meet, where this worker is the one that does. Undefined elsewhere. */
export async function keepStore({ meeting }: WorkerSeat): Promise<TcpStoreServer | undefined> {
  if (!meeting.isHere) return undefined;
  const { job, jobKey, address } = meeting;
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const server = await TcpStoreServer.listen({ job, jobKey, host, port: Number(port) });
  server.unref();
  return server;
}

/**
 * Meets the other workers and opens a group of them.
 * @throws RuntimeError that names who never came, where there is a time limit; AbortedError; what `TcpStore.connect` and `openProcessGroup` throw
 */
export async function openWorkerGroup(seat: WorkerSeat, signal?: AbortSignal): Promise<ProcessGroup> {
  const { rank, size, startupTimeoutSeconds } = seat;
  const begin = performance.now();
  const secondsLeft = () => {
    if (!startupTimeoutSeconds) return startupTimeoutSeconds;
    const left = startupTimeoutSeconds - (performance.now() - begin) / 1000;
    // Errors tell it: tenths are enough. 0 would be for ever.
    return Math.max(Math.round(10 * left), 1) / 10;
  };
  for (;;) {
    try {
      return await meetAndOpen(seat, secondsLeft, signal);
    } catch (error) {
      if (isOfFormerStore(error)) continue;
      if (!(error instanceof DeadlineExceededError)) throw error;
      const told = `worker ${rank} of ${size} waited ${startupTimeoutSeconds} seconds for the others to start`;
      const details = { rank, operation: 'start', cause: error };
      throw new RuntimeError('ERR_COLL_DEADLINE', `${told}: ${error.message}`, details);
    }
  }
}

/** The store of the group before this one was still there, and went away: the next one comes. */
function isOfFormerStore(error: unknown): boolean {
  // Where a rank is named, the store is the right one, and this group is over.
  return error instanceof UnavailableError && error.code === 'ERR_COLL_STORE' && error.rank === undefined;
}

async function meetAndOpen(
  seat: WorkerSeat,
  secondsLeft: () => number | null,
  signal: AbortSignal | undefined,
): Promise<ProcessGroup> {
  const { meeting, rank, size, transport, scope } = seat;
  const { address, job, jobKey, generation } = meeting;
  const where = { address, job, jobKey, timeoutSeconds: secondsLeft(), signal };
  await using store = await TcpStore.connect(where).catch((error) => {
    if (!(error instanceof DeadlineExceededError)) throw error;
    const told = `worker 0 at ${address.replace('tcp://', '')} never came`;
    throw new DeadlineExceededError('ERR_COLL_DEADLINE', told, { rank: 0, operation: 'start', cause: error });
  });
  return await openProcessGroup({
    ...transport,
    store: subStore(store, scope),
    rank,
    size,
    generation,
    job,
    jobKey,
    timeoutSeconds: secondsLeft(),
    signal,
  });
}
