import { type CollError, UnavailableError } from '@coll/core';
import { hasEnded } from './host-process.js';
import type { PeerBoard } from './peer-board.js';

const beatMillis = 1000;

/**
 * How to check whether the other processes still run, and the function to call when one is lost.
 */
export interface LivenessOptions {
  readonly board: PeerBoard;
  /**
   * Seconds without a heartbeat after which a process counts as lost, while this process waits. A
   * process writes a heartbeat every second, unless its JavaScript is busy.
   */
  readonly lostAfterSeconds: number;
  /** Whether a call of this process waits for other ranks. */
  isWaiting(): boolean;
  lost(error: CollError): void;
}

/**
 * Writes a heartbeat every second. While `isWaiting()`, also checks the other processes: those on
 * this host by process ID, all of them by heartbeat. Returns a function that stops the heartbeats
 * and checks.
 */
export function keepAlive({ board, lostAfterSeconds, isWaiting, lost }: LivenessOptions): () => void {
  let count = 0;
  let seen: readonly { readonly beat: number; readonly at: number }[] = [];
  let isBusy = false;
  const look = async () => {
    count += 1;
    await board.beat(count);
    if (!isWaiting()) {
      seen = [];
      return;
    }
    const ended = board.others.find((other) => other.process && hasEnded(other.process));
    if (ended) return lost(lostRank(ended.rank, 'its process has ended'));
    const now = performance.now();
    const beats = await board.beats();
    seen = beats.map((beat, index) => (seen[index]?.beat === beat ? seen[index] : { beat, at: now }));
    const silent = seen.findIndex(({ at }) => now - at >= lostAfterSeconds * 1000);
    if (silent < 0) return;
    const { rank } = board.others[silent] as { rank: number };
    lost(lostRank(rank, `it has not sent a heartbeat for ${lostAfterSeconds} seconds`));
  };
  const lookUnlessBusy = () => {
    if (isBusy) return;
    isBusy = true;
    // If the store is gone, only timeouts detect lost processes.
    look()
      .catch(() => undefined)
      .finally(() => {
        isBusy = false;
      });
  };
  lookUnlessBusy();
  const timer = setInterval(lookUnlessBusy, beatMillis);
  timer.unref();
  return () => clearInterval(timer);
}

function lostRank(rank: number, why: string): UnavailableError {
  return new UnavailableError('ERR_COLL_PEER_FAILED', `rank ${rank} was lost: ${why}`, { rank, ranks: [rank] });
}
