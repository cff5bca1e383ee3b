import { DeadlineExceededError, type ProcessGroup, RuntimeError, UnavailableError } from '@coll/core';
import { log } from '@coll/core/internal';
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
  /** Longest time until all workers are there; null and 0: no limit. */
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
  server.set(keeperKey(meeting), new Uint8Array());
  server.unref();
  return server;
}

/**
 * Meets the other workers and opens a group of them. Warns after 30 seconds, and then every minute, of the workers that are missing.
 * @throws RuntimeError that names the missing workers after `startupTimeoutSeconds`; UnavailableError (ERR_COLL_PEER_FAILED, rank 0) when worker 0, which
 * keeps the store, is lost; AbortedError; the errors of `TcpStore.connect` and `openProcessGroup`
 */
export async function openWorkerGroup(seat: WorkerSeat, signal?: AbortSignal): Promise<ProcessGroup> {
  const { rank, size, startupTimeoutSeconds, meeting } = seat;
  const begin = performance.now();
  const secondsLeft = () => {
    if (!startupTimeoutSeconds) return startupTimeoutSeconds;
    const left = startupTimeoutSeconds - (performance.now() - begin) / 1000;
    // Errors tell it: tenths are enough. 0 would be for ever.
    return Math.max(Math.round(10 * left), 1) / 10;
  };
  const progress: Progress = {};
  const endReports = reportWaiting((seconds) => {
    const limit = startupTimeoutSeconds ? `; startupTimeoutSeconds is ${startupTimeoutSeconds}` : '';
    log('warn', `worker ${rank} of ${size} has waited ${seconds} seconds for ${missingIn(progress, meeting)}${limit}`);
  });
  try {
    for (;;) {
      try {
        return await meetAndOpen(seat, progress, secondsLeft, signal);
      } catch (error) {
        if (isStoreLost(error) && meeting.isOfWorker) {
          if (progress.hasMetKeeper) throw keeperLost(meeting, error);
          // The store of the group before this one was still there, and went away: the next one comes.
          continue;
        }
        if (!(error instanceof DeadlineExceededError)) throw error;
        const told = `worker ${rank} of ${size} waited ${startupTimeoutSeconds} seconds for the others to start`;
        const details = { rank, operation: 'start', cause: error };
        throw new RuntimeError('ERR_COLL_DEADLINE', `${told}: ${error.message}`, details);
      }
    }
  } finally {
    endReports();
  }
}

/** How far a worker has come. */
interface Progress {
  /** Whether it is connected to the store that worker 0 keeps for this generation, not one before. */
  hasMetKeeper?: true;
  /** The workers that have not arrived; undefined before the store is reached. */
  missing?: ReadonlySet<number> | undefined;
}

function missingIn({ missing }: Progress, meeting: MeetingPlace): string {
  if (!missing) return storeIn(meeting);
  return missing.size === 0 ? 'the others to connect' : `worker ${[...missing].join(', ')}`;
}

function storeIn({ address, isOfWorker }: MeetingPlace): string {
  return isOfWorker ? `worker 0 at ${address.replace('tcp://', '')}` : `the store at ${address}`;
}

/** Whether the store is gone, or does not answer. */
function isStoreLost(error: unknown): error is UnavailableError {
  // Where a rank is named, the store is the right one, and this group is over.
  return error instanceof UnavailableError && error.code === 'ERR_COLL_STORE' && error.rank === undefined;
}

function keeperLost(meeting: MeetingPlace, cause: UnavailableError): UnavailableError {
  const told = `${storeIn(meeting)} was lost before all workers had met: ${cause.message}`;
  const details = { rank: 0, operation: 'start', cause };
  return new UnavailableError('ERR_COLL_PEER_FAILED', `${told}; look at its own error`, details);
}

/** Where worker 0 marks its store as the one of a generation. */
function keeperKey({ generation }: MeetingPlace): string {
  return `keeper/${generation}`;
}

async function meetAndOpen(
  seat: WorkerSeat,
  progress: Progress,
  secondsLeft: () => number | null,
  signal: AbortSignal | undefined,
): Promise<ProcessGroup> {
  const { meeting, rank, size, transport, scope } = seat;
  const { address, job, jobKey, generation } = meeting;
  const where = { address, job, jobKey, timeoutSeconds: secondsLeft(), signal };
  progress.missing = undefined;
  await using store = await TcpStore.connect(where).catch((error) => {
    if (!(error instanceof DeadlineExceededError)) throw error;
    const details = { rank: 0, operation: 'start', cause: error };
    throw new DeadlineExceededError('ERR_COLL_DEADLINE', `${storeIn(meeting)} did not arrive`, details);
  });
  // Answered before anything else that is asked of this store. One of a group before has no such key.
  const marked = () => {
    progress.hasMetKeeper = true;
  };
  store.get(keeperKey(meeting)).then(marked, () => {});
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
    onWait: (missing) => {
      progress.missing = missing;
    },
  });
}

const firstReportSeconds = 30;
const nextReportSeconds = 60;

/** Calls back after 30 seconds, and then every minute, with the seconds so far. @returns what ends that */
function reportWaiting(report: (seconds: number) => void): () => void {
  let seconds = firstReportSeconds;
  const tell = () => {
    report(seconds);
    seconds += nextReportSeconds;
    timer = setTimeout(tell, nextReportSeconds * 1000);
  };
  let timer = setTimeout(tell, firstReportSeconds * 1000);
  return () => clearTimeout(timer);
}
