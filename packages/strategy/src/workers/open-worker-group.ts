import { DeadlineExceededError, type ProcessGroup, RuntimeError, UnavailableError } from '@coll/core';
import { log } from '@coll/core/internal';
import { type OpenProcessGroupOptions, openProcessGroup } from '@coll/processes';
import { subStore, TcpStore, type TcpStoreServer } from '@coll/rendezvous';
import { hostedStore, hostFromEnvironment, listenForGroup } from '@coll/rendezvous/internal';
import type { StoreAddress } from './store-address.js';

/** How workers exchange data, as accepted by `openProcessGroup`. */
export type TransportOptions = Pick<
  OpenProcessGroupOptions,
  'host' | 'encrypt' | 'insecure' | 'transport' | 'streams' | 'heartbeatSeconds' | 'checkResults'
>;

/** The group of workers to open, and the member that opens it. Plain data that can be posted to a thread. */
export interface WorkerConfig {
  readonly storeAddress: StoreAddress;
  readonly rank: number;
  readonly size: number;
  readonly transport: TransportOptions;
  /** Seconds until all workers must have arrived; null and 0 mean no limit. */
  readonly startupTimeoutSeconds: number | null;
  /** Distinguishes this group from other groups of the same workers. */
  readonly scope: string;
}

/**
 * Hosts the store for the rendezvous of the workers if `storeAddress.isHere`, and returns it for the
 * caller to close; returns undefined if this process does not host it, or until it exits.
 */
export async function keepStore({ storeAddress }: WorkerConfig): Promise<TcpStoreServer | undefined> {
  if (!storeAddress.isHere) return undefined;
  const { job, jobKey, address } = storeAddress;
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const shared = hostedStore(address);
  const server = shared ?? (await listenForGroup({ job, jobKey, host, port: Number(port) }));
  server.set(keeperKey(storeAddress), new Uint8Array());
  return shared ? undefined : server;
}

/**
 * Waits for the other workers and opens a group with them. Logs a warning about missing workers
 * after 30 seconds, and then every minute.
 * @throws RuntimeError that names the missing workers after `startupTimeoutSeconds`;
 * UnavailableError (ERR_COLL_PEER_FAILED, rank 0) if worker 0, which hosts the store, is lost;
 * AbortedError; the errors of `TcpStore.connect` and `openProcessGroup`
 */
export async function openWorkerGroup(config: WorkerConfig, signal?: AbortSignal): Promise<ProcessGroup> {
  const { rank, size, startupTimeoutSeconds, storeAddress } = config;
  const begin = performance.now();
  const secondsLeft = () => {
    if (!startupTimeoutSeconds) return startupTimeoutSeconds;
    const left = startupTimeoutSeconds - (performance.now() - begin) / 1000;
    // Rounded to tenths because errors print the number; at least 0.1 because 0 would mean no
    // limit.
    return Math.max(Math.round(10 * left), 1) / 10;
  };
  const progress: Progress = {};
  const endReports = reportWaiting((seconds) => {
    const limit = startupTimeoutSeconds ? `; startupTimeoutSeconds is ${startupTimeoutSeconds}` : '';
    log(
      'warn',
      `worker ${rank} of ${size} has waited ${seconds} seconds for ${missingIn(progress, storeAddress)}${limit}`,
    );
  });
  try {
    for (;;) {
      try {
        return await meetAndOpen(config, progress, secondsLeft, signal);
      } catch (error) {
        if (isStoreLost(error) && storeAddress.isOfWorker) {
          if (progress.hasMetKeeper) throw keeperLost(storeAddress, error);
          // This was the store of the previous group, which has closed now; wait for the next
          // store.
          continue;
        }
        if (!(error instanceof DeadlineExceededError)) throw error;
        const message = `worker ${rank} of ${size} waited ${startupTimeoutSeconds} seconds for the others to start`;
        const details = { rank, operation: 'start', cause: error };
        throw new RuntimeError('ERR_COLL_DEADLINE', `${message}: ${error.message}`, details);
      }
    }
  } finally {
    endReports();
  }
}

/** How far this worker has come in opening the group of workers. */
interface Progress {
  /**
   * Whether this worker is connected to the store that worker 0 hosts for this generation, not for
   * a previous one.
   */
  hasMetKeeper?: true;
  /** The workers that have not arrived; undefined before the store is reached. */
  missing?: ReadonlySet<number> | undefined;
}

function missingIn({ missing }: Progress, storeAddress: StoreAddress): string {
  if (!missing) return storeIn(storeAddress);
  return missing.size === 0 ? 'the others to connect' : `worker ${[...missing].join(', ')}`;
}

function storeIn({ address, isOfWorker }: StoreAddress): string {
  return isOfWorker ? `worker 0 at ${address.replace('tcp://', '')}` : `the store at ${address}`;
}

/** Whether the store is gone or does not answer. */
function isStoreLost(error: unknown): error is UnavailableError {
  // If the error names a rank, the store is the right one, and this group has ended.
  return error instanceof UnavailableError && error.code === 'ERR_COLL_STORE' && error.rank === undefined;
}

function keeperLost(storeAddress: StoreAddress, cause: UnavailableError): UnavailableError {
  const message = `${storeIn(storeAddress)} was lost before all workers had joined: ${cause.message}`;
  const details = { rank: 0, operation: 'start', cause };
  return new UnavailableError('ERR_COLL_PEER_FAILED', `${message}; see the output of that process`, details);
}

/** The key with which worker 0 marks the store of a generation. */
function keeperKey({ generation }: StoreAddress): string {
  return `keeper/${generation}`;
}

async function meetAndOpen(
  config: WorkerConfig,
  progress: Progress,
  secondsLeft: () => number | null,
  signal: AbortSignal | undefined,
): Promise<ProcessGroup> {
  const { storeAddress, rank, size, transport, scope } = config;
  const { address, job, jobKey, generation } = storeAddress;
  const where = { address, job, jobKey, timeoutSeconds: secondsLeft(), signal };
  progress.missing = undefined;
  await using store = await TcpStore.connect(where).catch((error) => {
    if (!(error instanceof DeadlineExceededError)) throw error;
    const details = { rank: 0, operation: 'start', cause: error };
    const why = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    throw new DeadlineExceededError(
      'ERR_COLL_DEADLINE',
      `${storeIn(storeAddress)} could not be reached${why}`,
      details,
    );
  });
  // The store answers this request first. The store of a previous group does not have the key.
  const marked = () => {
    progress.hasMetKeeper = true;
  };
  store.get(keeperKey(storeAddress)).then(marked, () => {});
  return await openProcessGroup({
    ...transport,
    host: transport.host ?? hostFromEnvironment(store),
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

/**
 * Calls `report` after 30 seconds, and then every minute, with the seconds so far.
 * @returns a function that stops the reports
 */
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
